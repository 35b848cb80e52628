"use strict";

/* Courses of features: lines through all values, or from the least to the largest value of each pixel. */

const STORED_LEVELS = 4095;
const EMPTY_LEVEL = 65535;
const GAP_STEPS = 20;

class Courses {
  constructor(values, axis) {
    this.lines = values.lines;
    this.ranges = values.ranges;
    this.axis = axis;
  }

  /* Place of a row of a series between the ends of the axis. */
  placeOf(line, row) {
    if (line.times) return line.times[row] / STORED_TIMES;
    const [first, last] = line.between;
    return line.rows > 1 ? first + ((last - first) * row) / (line.rows - 1) : first;
  }

  /* The first row of a series at or behind a place. */
  rowAt(line, place) {
    let low = 0;
    let high = line.rows;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.placeOf(line, middle) < place) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  value(feature, level) {
    const [low, high] = this.ranges[feature];
    return low + ((high - low) * level) / STORED_LEVELS;
  }

  /* Traces the course of a feature in a box onto a path of the context. */
  trace(context, group, feature, box, from, to) {
    const line = this.lines[group];
    const y = (level) => box.y + box.height * (1 - level / STORED_LEVELS);
    const x = (place) => box.x + (box.width * (place - from)) / (to - from);
    if (line.columns) {
      this.traceRanges(context, this.columnRanges(line, feature, box, from, to), box, y);
      return;
    }
    const first = Math.max(this.rowAt(line, from) - 1, 0);
    const last = Math.min(this.rowAt(line, to), line.rows - 1);
    if (line.mean) {
      this.traceMoments(context, line, feature, first, last, x, y);
      return;
    }
    const levels = line.values[feature];
    if (last - first > 3 * box.width) {
      this.traceRanges(context, this.rowRanges(line, levels, first, last, box, from, to), box, y);
      return;
    }
    let before = -Infinity;
    for (let row = first; row <= last; row++) {
      const place = this.placeOf(line, row);
      if (place - before > GAP_STEPS * this.axis.step) context.moveTo(x(place), y(levels[row]));
      context.lineTo(x(place), y(levels[row]));
      before = place;
    }
  }

  /* Moments with several rows: bars from the least to the largest value, and a line through the means. */
  traceMoments(context, line, feature, first, last, x, y) {
    for (let row = first; row <= last; row++) {
      const place = x(this.placeOf(line, row));
      context.moveTo(place, y(line.least[feature][row]));
      context.lineTo(place, y(line.largest[feature][row]));
    }
    for (let row = first; row <= last; row++) {
      const place = x(this.placeOf(line, row));
      if (row === first) context.moveTo(place, y(line.mean[feature][row]));
      else context.lineTo(place, y(line.mean[feature][row]));
    }
  }

  /* The least and the largest level of each pixel, from rows. */
  rowRanges(line, levels, first, last, box, from, to) {
    const width = Math.round(box.width);
    const least = new Float64Array(width).fill(Infinity);
    const largest = new Float64Array(width).fill(-Infinity);
    for (let row = first; row <= last; row++) {
      const pixel = Math.floor((width * (this.placeOf(line, row) - from)) / (to - from));
      if (pixel < 0 || pixel >= width) continue;
      if (levels[row] < least[pixel]) least[pixel] = levels[row];
      if (levels[row] > largest[pixel]) largest[pixel] = levels[row];
    }
    return [least, largest];
  }

  /* The same from columns of time. */
  columnRanges(line, feature, box, from, to) {
    const width = Math.round(box.width);
    const least = new Float64Array(width).fill(Infinity);
    const largest = new Float64Array(width).fill(-Infinity);
    for (let pixel = 0; pixel < width; pixel++) {
      const begin = Math.floor(line.columns * (from + ((to - from) * pixel) / width));
      const end = Math.ceil(line.columns * (from + ((to - from) * (pixel + 1)) / width));
      for (let column = begin; column < Math.min(Math.max(end, begin + 1), line.columns); column++) {
        if (line.least[feature][column] === EMPTY_LEVEL) continue;
        if (line.least[feature][column] < least[pixel]) least[pixel] = line.least[feature][column];
        if (line.largest[feature][column] > largest[pixel]) largest[pixel] = line.largest[feature][column];
      }
    }
    return [least, largest];
  }

  traceRanges(context, [least, largest], box, y) {
    for (let pixel = 0; pixel < least.length; pixel++) {
      if (least[pixel] > largest[pixel]) continue;
      const x = box.x + pixel + 0.5;
      context.moveTo(x, y(least[pixel]) + 0.5);
      context.lineTo(x, y(largest[pixel]) - 0.5);
    }
  }

  /* The least and the largest value of a feature between two places, in the units of the data; null without rows. */
  between(group, feature, from, to) {
    const line = this.lines[group];
    let least = Infinity;
    let largest = -Infinity;
    if (line.columns) {
      for (let column = Math.floor(from * line.columns); column < Math.max(to * line.columns, Math.floor(from * line.columns) + 1) && column < line.columns; column++) {
        if (line.least[feature][column] === EMPTY_LEVEL) continue;
        least = Math.min(least, line.least[feature][column]);
        largest = Math.max(largest, line.largest[feature][column]);
      }
    } else {
      const first = Math.max(Math.min(this.rowAt(line, to) - 1, this.rowAt(line, from)), 0);
      for (let row = first; row < Math.max(this.rowAt(line, to), first + 1) && row < line.rows; row++) {
        least = Math.min(least, (line.mean ? line.least : line.values)[feature][row]);
        largest = Math.max(largest, (line.mean ? line.largest : line.values)[feature][row]);
      }
    }
    return least > largest ? null : [this.value(feature, least), this.value(feature, largest)];
  }
}
