"use strict";

/* Courses of features: lines through all values, or bars from the least to the largest value of each pixel and its mean. */

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

  /* The course of a feature in a box as two paths: bars from the least to the largest value, and a line of values or means. */
  paths(group, feature, box, from, to) {
    const line = this.lines[group];
    const y = (level) => box.y + box.height * (1 - level / STORED_LEVELS);
    const x = (place) => box.x + (box.width * (place - from)) / (to - from);
    if (line.columns) return this.tracePixels(this.columnRanges(line, feature, box, from, to), box, y);
    const first = Math.max(this.rowAt(line, from) - 1, 0);
    const last = Math.min(this.rowAt(line, to), line.rows - 1);
    if (!line.mean && last - first > 3 * box.width) return this.tracePixels(this.rowRanges(line, feature, first, last, box, from, to), box, y);
    return this.traceRows(line, feature, first, last, x, y);
  }

  /* A line through rows, or through the means of moments with several rows, which have bars; gaps are left out. */
  traceRows(line, feature, first, last, x, y) {
    const bars = new Path2D();
    const path = new Path2D();
    const levels = (line.mean || line.values)[feature];
    let before = -Infinity;
    for (let row = first; row <= last; row++) {
      const place = this.placeOf(line, row);
      if (place - before > GAP_STEPS * this.axis.step) path.moveTo(x(place), y(levels[row]));
      path.lineTo(x(place), y(levels[row]));
      before = place;
      if (!line.mean) continue;
      bars.moveTo(x(place), y(line.least[feature][row]));
      bars.lineTo(x(place), y(line.largest[feature][row]));
    }
    return [bars, path];
  }

  /* The least, the largest and the mean level of each pixel, from rows. */
  rowRanges(line, feature, first, last, box, from, to) {
    const ranges = new PixelRanges(Math.round(box.width));
    const levels = line.values[feature];
    for (let row = first; row <= last; row++) {
      const pixel = Math.floor((ranges.width * (this.placeOf(line, row) - from)) / (to - from));
      ranges.add(pixel, levels[row], levels[row], levels[row]);
    }
    return ranges;
  }

  /* The same from columns of time. */
  columnRanges(line, feature, box, from, to) {
    const ranges = new PixelRanges(Math.round(box.width));
    const least = line.least[feature];
    const largest = line.largest[feature];
    const mean = line.means[feature];
    for (let pixel = 0; pixel < ranges.width; pixel++) {
      const begin = Math.floor(line.columns * (from + ((to - from) * pixel) / ranges.width));
      const end = Math.ceil(line.columns * (from + ((to - from) * (pixel + 1)) / ranges.width));
      for (let column = begin; column < Math.min(Math.max(end, begin + 1), line.columns); column++) if (least[column] !== EMPTY_LEVEL) ranges.add(pixel, least[column], largest[column], mean[column]);
    }
    return ranges;
  }

  tracePixels(ranges, box, y) {
    const bars = new Path2D();
    const path = new Path2D();
    let before = false;
    for (let pixel = 0; pixel < ranges.width; pixel++) {
      const count = ranges.counts[pixel];
      if (count) {
        const x = box.x + pixel + 0.5;
        const level = y(ranges.sums[pixel] / count);
        bars.moveTo(x, y(ranges.least[pixel]) + 0.5);
        bars.lineTo(x, y(ranges.largest[pixel]) - 0.5);
        if (before) path.lineTo(x, level);
        else path.moveTo(x, level);
      }
      before = count > 0;
    }
    return [bars, path];
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

/* The least, the largest and the sum of what falls on each pixel. */
class PixelRanges {
  constructor(width) {
    this.width = width;
    this.least = new Float64Array(width).fill(Infinity);
    this.largest = new Float64Array(width).fill(-Infinity);
    this.sums = new Float64Array(width);
    this.counts = new Uint32Array(width);
  }

  add(pixel, least, largest, mean) {
    if (pixel < 0 || pixel >= this.width) return;
    if (least < this.least[pixel]) this.least[pixel] = least;
    if (largest > this.largest[pixel]) this.largest[pixel] = largest;
    this.sums[pixel] += mean;
    this.counts[pixel] += 1;
  }
}
