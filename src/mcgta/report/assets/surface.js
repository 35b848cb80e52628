"use strict";

/* What timeline and map share: canvases that are as sharp as the screen, and colours of the page. */

const NOISE = 65534;
const NOTHING = 65535;
const TEXT_FONT = "12px system-ui, sans-serif";

function byId(id) {
  return document.getElementById(id);
}

/* Sizes a canvas in CSS pixels, and returns its context in these. */
function sizedContext(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = width + "px";
  canvas.style.height = height + "px";
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = TEXT_FONT;
  context.textBaseline = "alphabetic";
  return context;
}

/* Colours of the page, light or dark. */
function pageColors() {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(name).trim();
  return { ink: read("--ink"), faint: read("--faint"), rule: read("--rule"), ground: read("--ground"), ghost: read("--ghost"), band: read("--band"), shade: read("--shade") };
}

/* What the whole page shows: hidden clusters, the window of time, and which labelling. */
class PageState {
  constructor(values) {
    this.values = values;
    this.numbers = values.colors.length;
    this.hidden = new Set();
    this.from = 0;
    this.to = 1;
    this.shown = values.shown.findIndex((each) => each.taken);
    this.taken = this.shown;
    this.listeners = [];
    this.waiting = false;
  }

  /* Index of a code among clusters, noise behind them. */
  index(code) {
    return code === NOISE ? this.numbers : code;
  }

  color(index) {
    return index === this.numbers ? this.values.noise : this.values.colors[index];
  }

  isHidden(index) {
    return this.hidden.has(index);
  }

  listen(listener) {
    this.listeners.push(listener);
  }

  /* Redraws once before the next frame, however many changes there are. */
  change() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.redraw();
    });
  }

  redraw() {
    const start = performance.now();
    for (const listener of this.listeners) listener();
    performance.clearMeasures("mcgta-redraw");
    performance.measure("mcgta-redraw", { start });
  }

  setWindow(from, to) {
    const width = Math.min(Math.max(to - from, 1e-6), 1);
    this.from = Math.min(Math.max(from, 0), 1 - width);
    this.to = this.from + width;
    this.change();
  }
}

/* Writes a text that ends before a width, with dots where it is cut. */
function fitText(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let cut = text;
  while (cut.length > 1 && context.measureText(cut + "…").width > width) cut = cut.slice(0, -1);
  return cut + "…";
}
