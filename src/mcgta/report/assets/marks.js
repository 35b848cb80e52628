"use strict";

/* The marks of a map: points, discs of places with several rows, or cells that are dealt out by shares. */

const SLICES = 8;
const SLICE_STRIDE = 7919;
const COVERED_SHARE = 0.25;
const CELL_PIXELS = 4;
const BAYER = [0, 8, 2, 10, 12, 4, 14, 6, 3, 11, 1, 9, 15, 7, 13, 5];
const FAINTEST = 0.45;
const STORED_PLACES = 65535;

class MapMarks {
  constructor(map) {
    this.map = map;
    this.state = map.state;
    this.values = map.values;
    this.cells = null;
  }

  draw(context, colors) {
    if (this.values.cells) this.drawCells(context);
    else if (this.values.stacked) this.drawPies(context, colors);
    else this.drawPoints(context);
  }

  isIn(point) {
    const { times } = this.values;
    if (!times) return true;
    const place = times[point] / STORED_PLACES;
    return place >= this.state.from - 1e-5 && place <= this.state.to + 1e-5;
  }

  /* Points in eight slices, in each of which one cluster after another is drawn, so that none covers the others. */
  drawPoints(context) {
    const { state, values } = this;
    const codes = values.codes[state.shown];
    const count = codes.length;
    const radius = Math.min(Math.max(Math.sqrt((COVERED_SHARE * this.map.width * this.map.height) / (count * Math.PI)) * Math.sqrt(this.map.magnified), 0.8), 5);
    const listed = Array.from({ length: SLICES * (state.numbers + 1) }, () => []);
    for (let point = 0; point < count; point++) {
      const index = state.index(codes[point]);
      if (state.isHidden(index) || !this.isIn(point)) continue;
      const slice = index === state.numbers ? 0 : (point * SLICE_STRIDE) % SLICES;
      listed[slice * (state.numbers + 1) + (state.numbers - index)].push(point);
    }
    listed.forEach((points, place) => {
      if (!points.length) return;
      context.fillStyle = state.color(state.numbers - (place % (state.numbers + 1)));
      this.fillPoints(context, points, radius);
    });
  }

  fillPoints(context, points, radius) {
    const { values } = this;
    const round = radius > 1.6;
    context.beginPath();
    for (const point of points) {
      const x = this.map.x(values.x[point] / STORED_PLACES);
      const y = this.map.y(1 - values.y[point] / STORED_PLACES);
      if (round) {
        context.moveTo(x + radius, y);
        context.arc(x, y, radius, 0, 2 * Math.PI);
      } else context.rect(x - radius, y - radius, 2 * radius, 2 * radius);
    }
    context.fill();
  }

  /* Places with several rows, as discs that are divided by shares; rows at one place stand together. */
  drawPies(context, colors) {
    const { state, values } = this;
    const codes = values.codes[state.shown];
    const counts = new Float64Array(state.numbers + 1);
    this.places = this.places || this.countPlaces();
    const radius = Math.min(Math.max(1.4 * Math.sqrt((COVERED_SHARE * this.map.width * this.map.height * this.map.magnified) / (this.places * Math.PI)), 1.5), 9);
    for (let first = 0, next = 0; first < codes.length; first = next) {
      counts.fill(0);
      let total = 0;
      for (next = first; next < codes.length && values.x[next] === values.x[first] && values.y[next] === values.y[first]; next++) {
        const index = state.index(codes[next]);
        if (state.isHidden(index) || !this.isIn(next)) continue;
        counts[index] += 1;
        total += 1;
      }
      this.drawPie(context, first, counts, total, radius, colors);
    }
  }

  countPlaces() {
    const { x, y } = this.values;
    let count = 0;
    for (let k = 0; k < x.length; k++) if (k === 0 || x[k] !== x[k - 1] || y[k] !== y[k - 1]) count += 1;
    return count;
  }

  drawPie(context, point, counts, total, radius, colors) {
    const x = this.map.x(this.values.x[point] / STORED_PLACES);
    const y = this.map.y(1 - this.values.y[point] / STORED_PLACES);
    let angle = -0.5 * Math.PI;
    if (!total) {
      context.fillStyle = colors.ghost;
      context.beginPath();
      context.arc(x, y, 0.5 * radius, 0, 2 * Math.PI);
      context.fill();
      return;
    }
    counts.forEach((count, index) => {
      if (!count) return;
      const end = angle + (2 * Math.PI * count) / total;
      context.fillStyle = this.state.color(index);
      context.beginPath();
      if (count < total) context.moveTo(x, y);
      context.arc(x, y, radius, angle, end);
      context.fill();
      angle = end;
    });
  }

  /* Cells as a picture of four by four pixels each, of which a cluster has as many as is its share. */
  drawCells(context) {
    const key = this.state.shown + " " + [...this.state.hidden].sort().join(" ");
    if (!this.cells || this.cells.key !== key) this.cells = { key, picture: this.dealOut() };
    context.imageSmoothingEnabled = false;
    context.drawImage(this.cells.picture, this.map.x(0), this.map.y(0), this.map.width * this.map.magnified, this.map.height * this.map.magnified);
  }

  dealOut() {
    const { state, values } = this;
    const { columns, rows } = values;
    const { codes, counts } = values.cells[state.shown];
    const size = columns * rows;
    const picture = document.createElement("canvas");
    picture.width = CELL_PIXELS * columns;
    picture.height = CELL_PIXELS * rows;
    const context = picture.getContext("2d");
    const image = context.createImageData(picture.width, picture.height);
    const pixels = new Uint32Array(image.data.buffer);
    const shown = codes.map((code, place) => ({ index: state.index(code), place })).filter((each) => !state.isHidden(each.index));
    const totals = new Float64Array(size);
    for (const { place } of shown) for (let cell = 0; cell < size; cell++) totals[cell] += counts[place * size + cell];
    const filled = totals.filter((total) => total > 0).sort();
    const many = filled.length ? filled[Math.floor(0.9 * (filled.length - 1))] : 1;
    const paints = shown.map(({ index }) => parseInt(state.color(index).slice(1), 16)).map((rgb) => ((rgb & 255) << 16) | (rgb & 0xff00) | (rgb >> 16));
    for (let cell = 0; cell < size; cell++) {
      if (!totals[cell]) continue;
      const alpha = Math.round(255 * (FAINTEST + (1 - FAINTEST) * Math.sqrt(Math.min(totals[cell] / many, 1))));
      const top = CELL_PIXELS * (rows - 1 - Math.floor(cell / columns));
      const left = CELL_PIXELS * (cell % columns);
      for (let k = 0; k < 16; k++) {
        let rest = ((BAYER[k] + 0.5) / 16) * totals[cell];
        let which = 0;
        while (which < shown.length - 1 && rest > counts[shown[which].place * size + cell]) rest -= counts[shown[which++].place * size + cell];
        pixels[(top + (k >> 2)) * picture.width + left + (k & 3)] = ((alpha << 24) | paints[which]) >>> 0;
      }
    }
    context.putImageData(image, 0, 0);
    return picture;
  }

  /* The point within eight pixels that is nearest to a place; -1 without one. */
  nearest(x, y) {
    const { state, values } = this;
    const codes = values.codes[state.shown];
    const across = this.map.width * this.map.magnified;
    const upward = this.map.height * this.map.magnified;
    let best = 64;
    let found = -1;
    for (let point = 0; point < codes.length; point++) {
      const a = (values.x[point] / STORED_PLACES - x) * across;
      const b = (1 - values.y[point] / STORED_PLACES - y) * upward;
      const square = a * a + b * b;
      if (square < best && !state.isHidden(state.index(codes[point])) && this.isIn(point)) {
        best = square;
        found = point;
      }
    }
    return found;
  }
}
