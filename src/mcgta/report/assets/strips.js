"use strict";

/* A strip: which cluster holds when, by runs or by shares of columns of time. */

const STORED_TIMES = 2 ** 32 - 1;

class Strip {
  constructor(values, state) {
    this.state = state;
    this.starts = values.starts;
    this.codes = values.codes;
    this.columns = values.columns;
    this.shares = values.shares;
  }

  /* Adds how much of the time from one place to another each cluster holds, noise last. */
  addShares(from, to, sums) {
    if (this.starts) this.addRuns(from * STORED_TIMES, to * STORED_TIMES, sums);
    else this.addColumns(from * this.columns, to * this.columns, sums);
  }

  addRuns(from, to, sums) {
    const { starts, codes } = this;
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (starts[middle] <= from) low = middle;
      else high = middle - 1;
    }
    for (let run = low; run < starts.length && starts[run] < to; run++) {
      const end = run + 1 < starts.length ? starts[run + 1] : STORED_TIMES;
      const held = Math.min(end, to) - Math.max(starts[run], from);
      if (codes[run] !== NOTHING && held > 0) sums[this.state.index(codes[run])] += held / (to - from);
    }
  }

  addColumns(from, to, sums) {
    const { columns, codes, shares } = this;
    for (let column = Math.floor(from); column < Math.min(Math.ceil(to), columns); column++) {
      const part = (Math.min(column + 1, to) - Math.max(column, from)) / (to - from);
      for (let k = 0; k < codes.length; k++) sums[this.state.index(codes[k])] += (part * shares[k * columns + column]) / 255;
    }
  }
}

/* Draws strips as columns of pixels in which clusters are stacked by their shares; each that is there gets a pixel. In a
   numbered box, stretches that are wide enough have the number of their cluster. */
function drawShares(context, strips, box, from, to, state, colors) {
  const sums = new Float64Array(state.numbers + 1);
  const held = [];
  let open = null;
  const width = Math.round(box.width);
  for (let pixel = 0; pixel < width; pixel++) {
    sums.fill(0);
    const begin = from + ((to - from) * pixel) / width;
    const end = from + ((to - from) * (pixel + 1)) / width;
    for (const strip of strips) strip.addShares(begin, end, sums);
    held.length = 0;
    let total = 0;
    for (let k = 0; k <= state.numbers; k++)
      if (sums[k] > 1e-9) {
        held.push(k);
        total += sums[k];
      }
    const only = held.length === 1 ? held[0] : -1;
    if (open && open.k !== only) {
      fillRun(context, open, pixel, box, state, colors);
      open = null;
    }
    if (only >= 0) {
      if (!open) open = { k: only, from: pixel };
      continue;
    }
    drawColumn(context, held, sums, total, box, pixel, state, colors);
  }
  if (open) fillRun(context, open, width, box, state, colors);
}

function fillRun(context, run, end, box, state, colors) {
  context.fillStyle = state.isHidden(run.k) ? colors.ghost : state.color(run.k);
  context.fillRect(box.x + run.from, box.y, end - run.from, box.height);
  if (!box.numbered || run.k === state.numbers || state.isHidden(run.k)) return;
  const number = String(run.k);
  const width = context.measureText(number).width;
  if (end - run.from < width + 10) return;
  context.fillStyle = state.values.inks[run.k];
  context.fillText(number, box.x + (run.from + end - width) / 2, box.y + box.height / 2 + 4);
}

function drawColumn(context, held, sums, total, box, pixel, state, colors) {
  const heights = held.map((k) => Math.max(Math.round((sums[k] / total) * box.height), 1));
  const most = heights.indexOf(Math.max(...heights));
  if (held.length) heights[most] += box.height - heights.reduce((sum, height) => sum + height, 0);
  let y = box.y;
  held.forEach((k, place) => {
    context.fillStyle = state.isHidden(k) ? colors.ghost : state.color(k);
    context.fillRect(box.x + pixel, y, 1, heights[place]);
    y += heights[place];
  });
}
