"use strict";

/* Round numbers and dates between two ends, and how they are written. */

const SECOND = 1000;
const DAY = 86400 * SECOND;
const DATE_STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4, 3e5, 6e5, 9e5, 18e5, 36e5, 72e5, 108e5, 216e5, 432e5, DAY, 2 * DAY, 7 * DAY];
const MONTH_STEPS = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200];

function numberTicks(low, high, most) {
  const rough = (high - low) / Math.max(most - 1, 1);
  if (!(rough > 0)) return [];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((part) => part * power).find((part) => part >= rough * (1 - 1e-9));
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k <= Math.floor(high / step + 1e-9); k++) ticks.push({ at: k * step, label: sayNumber(k * step, step) });
  return ticks;
}

/* Returns a number with the digits that tell multiples of a step apart. */
function sayNumber(value, step) {
  if (!Number.isFinite(value)) return "–";
  const largest = Math.max(Math.abs(value), step);
  if (largest >= 1e9 || largest < 1e-4) return value === 0 ? "0" : value.toExponential(2).replace(/\.?0+e/, "e");
  let digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  if (Math.abs(step - Number(step.toFixed(digits))) > 1e-9 * step) digits += 1;
  const [whole, part] = Math.abs(value).toFixed(Math.min(digits, 6)).split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",") + (part ? "." + part : "");
  return value < 0 && Number(value.toFixed(digits)) !== 0 ? "-" + grouped : grouped;
}

function sayShare(share) {
  if (share === 0) return "0 %";
  if (share < 0.001) return "under 0.1 %";
  if (share > 0.999 && share < 1) return "over 99.9 %";
  if (share < 0.0095 || (share > 0.9905 && share < 1)) return (100 * share).toFixed(1) + " %";
  return (100 * share).toFixed(0) + " %";
}

function dateTicks(low, high, most) {
  const rough = (high - low) / most;
  const step = DATE_STEPS.find((each) => each >= rough);
  const ticks = [];
  if (step) {
    for (let k = Math.ceil(low / step); k <= Math.floor(high / step); k++) ticks.push({ at: k * step, label: sayDate(k * step, step, high - low) });
    return ticks;
  }
  const months = MONTH_STEPS.find((each) => each * 30.44 * DAY >= rough) || 1200;
  const begin = new Date(low);
  const first = Math.floor((begin.getUTCFullYear() * 12 + begin.getUTCMonth()) / months) * months;
  for (let k = first; ; k += months) {
    const date = new Date(0);
    date.setUTCFullYear(Math.floor(k / 12), ((k % 12) + 12) % 12, 1);
    if (date.getTime() > high) return ticks;
    if (date.getTime() >= low) ticks.push({ at: date.getTime(), label: months >= 12 ? date.toISOString().slice(0, 4) : date.toISOString().slice(0, 7) });
  }
}

function sayDate(time, step, span) {
  const text = new Date(time).toISOString();
  if (step >= DAY) return text.slice(0, 10);
  const clock = step >= 6e4 ? text.slice(11, 16) : step >= SECOND ? text.slice(11, 19) : text.slice(11, 23);
  return span > DAY ? text.slice(5, 10) + " " + clock : clock;
}

/* The axis of time: places are shares from 0 to 1 between its ends. */
class TimeAxis {
  constructor(values) {
    this.dated = values.dated;
    this.ends = values.ends;
    this.unit = values.unit;
    this.step = values.step;
  }

  at(place) {
    return this.ends[0] + place * (this.ends[1] - this.ends[0]);
  }

  place(time) {
    return (time - this.ends[0]) / (this.ends[1] - this.ends[0]);
  }

  ticks(from, to, most) {
    const ticks = this.dated ? dateTicks(this.at(from), this.at(to), most) : numberTicks(this.at(from), this.at(to), most);
    return ticks.map((tick) => ({ place: this.place(tick.at), label: tick.label }));
  }

  say(place) {
    const span = this.ends[1] - this.ends[0];
    const step = this.step * span;
    if (this.dated) {
      const text = new Date(this.at(place)).toISOString();
      return step >= DAY ? text.slice(0, 10) : step >= 6e4 ? text.slice(0, 10) + " " + text.slice(11, 16) : text.slice(0, 10) + " " + text.slice(11, step >= SECOND ? 19 : 23);
    }
    const number = sayNumber(this.at(place), 10 ** Math.floor(Math.log10(step)));
    return this.unit === "step" ? "step " + number : (number + " " + this.unit).trim();
  }
}
