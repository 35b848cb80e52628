"use strict";

/* The map: points, or cells that are dealt out by shares, with coastlines, a graticule and a scale bar. */

const MAP_LEFT = 54;
const MAP_BOTTOM = 22;
const MAP_HEIGHT = 600;
const MAP_ZOOM = 1.6;
const MOST_ZOOM = 64;
const SLICES = 8;
const SLICE_STRIDE = 7919;
const COVERED_SHARE = 0.25;
const STORED_PLACES = 65535;
const SCALE_BAR_METRES = 200000;
const CELL_PIXELS = 4;
const BAYER = [0, 8, 2, 10, 12, 4, 14, 6, 3, 11, 1, 9, 15, 7, 13, 5];
const FAINTEST = 0.45;

class PlaceMap {
  constructor(state) {
    this.state = state;
    this.values = state.values.map;
    this.canvas = byId("map-canvas");
    this.middle = [0.5, 0.5];
    this.magnified = 1;
    this.cells = null;
    this.connect();
    state.listen(() => this.draw());
  }

  layout() {
    const [west, south, east, north] = this.values.view;
    const slimness = Math.min(Math.max(((north - south) * this.values.aspect) / (east - west), 0.15), 8);
    const room = Math.max(byId("map").clientWidth, 200) - MAP_LEFT - 2;
    this.width = Math.floor(Math.min(room, MAP_HEIGHT / slimness));
    this.height = Math.floor(this.width * slimness);
  }

  /* Pixels of a place given by shares of the view, from the west and from the north. */
  x(share) {
    return MAP_LEFT + this.width * (0.5 + (share - this.middle[0]) * this.magnified);
  }

  y(share) {
    return this.height * (0.5 + (share - this.middle[1]) * this.magnified);
  }

  draw() {
    this.layout();
    const colors = pageColors();
    const context = sizedContext(this.canvas, MAP_LEFT + this.width + 2, this.height + MAP_BOTTOM);
    this.drawGrid(context, colors);
    context.save();
    context.beginPath();
    context.rect(MAP_LEFT, 0, this.width, this.height);
    context.clip();
    if (this.values.cells) this.drawCells(context);
    else if (this.values.stacked) this.drawPies(context, colors);
    else this.drawPoints(context);
    this.drawCoast(context, colors);
    this.drawNumbers(context, colors);
    this.drawTiles(context, colors);
    this.drawScaleBar(context, colors);
    context.restore();
    context.strokeStyle = colors.rule;
    context.lineWidth = 1;
    context.strokeRect(MAP_LEFT + 0.5, 0.5, this.width - 1, this.height - 1);
  }

  drawGrid(context, colors) {
    const [west, south, east, north] = this.values.view;
    if (this.values.tiles.length) return;
    const half = 0.5 / this.magnified;
    const ends = (low, high, middle) => [low + (high - low) * (middle - half), low + (high - low) * (middle + half)];
    context.lineWidth = 1;
    context.strokeStyle = colors.rule;
    context.fillStyle = colors.faint;
    for (const tick of numberTicks(...ends(west, east, this.middle[0]), Math.max(Math.floor(this.width / 90), 2))) {
      const x = Math.round(this.x((tick.at - west) / (east - west))) + 0.5;
      const text = this.values.earth ? sayDegrees(tick.at, "E", "W") : tick.label;
      this.rule(context, x, 0, x, this.height);
      context.fillText(text, x - context.measureText(text).width / 2, this.height + 16);
    }
    for (const tick of numberTicks(...ends(south, north, 1 - this.middle[1]), Math.max(Math.floor(this.height / 70), 2))) {
      const y = Math.round(this.y((north - tick.at) / (north - south))) + 0.5;
      const text = this.values.earth ? sayDegrees(tick.at, "N", "S") : tick.label;
      this.rule(context, MAP_LEFT, y, MAP_LEFT + this.width, y);
      context.fillText(text, MAP_LEFT - 6 - context.measureText(text).width, y + 4);
    }
  }

  rule(context, x1, y1, x2, y2) {
    context.beginPath();
    context.moveTo(x1, y1);
    context.lineTo(x2, y2);
    context.stroke();
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
    const radius = Math.min(Math.max(Math.sqrt((COVERED_SHARE * this.width * this.height) / (count * Math.PI)) * Math.sqrt(this.magnified), 0.8), 5);
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
      const x = this.x(values.x[point] / STORED_PLACES);
      const y = this.y(1 - values.y[point] / STORED_PLACES);
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
    const radius = Math.min(Math.max(1.4 * Math.sqrt((COVERED_SHARE * this.width * this.height * this.magnified) / (this.places * Math.PI)), 1.5), 9);
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
    const x = this.x(this.values.x[point] / STORED_PLACES);
    const y = this.y(1 - this.values.y[point] / STORED_PLACES);
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

  /* Numbers of clusters where these are densest. */
  drawNumbers(context, colors) {
    const { state } = this;
    context.save();
    context.font = "bold 14px system-ui, sans-serif";
    context.lineWidth = 4;
    context.lineJoin = "round";
    context.strokeStyle = colors.ground;
    context.fillStyle = colors.ink;
    for (const [number, across, down] of this.values.anchors[state.shown]) {
      if (state.isHidden(number)) continue;
      const text = String(number);
      const x = this.x(across) - context.measureText(text).width / 2;
      context.strokeText(text, x, this.y(down) + 5);
      context.fillText(text, x, this.y(down) + 5);
    }
    context.restore();
  }

  /* Cells as a picture of four by four pixels each, of which a cluster has as many as is its share. */
  drawCells(context) {
    const key = this.state.shown + " " + [...this.state.hidden].sort().join(" ");
    if (!this.cells || this.cells.key !== key) this.cells = { key, picture: this.dealOut() };
    context.imageSmoothingEnabled = false;
    context.drawImage(this.cells.picture, this.x(0), this.y(0), this.width * this.magnified, this.height * this.magnified);
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

  drawCoast(context, colors) {
    const { coast } = this.values;
    if (!coast) return;
    const place = (stored) => (stored / STORED_PLACES) * (1 + 2 * coast.margin) - coast.margin;
    context.strokeStyle = colors.faint;
    context.lineWidth = 0.8;
    context.beginPath();
    let first = 0;
    for (const size of coast.sizes) {
      for (let k = first; k < first + size; k++) {
        const x = this.x(place(coast.x[k]));
        const y = this.y(1 - place(coast.y[k]));
        if (k === first) context.moveTo(x, y);
        else context.lineTo(x, y);
      }
      first += size;
    }
    context.stroke();
  }

  drawTiles(context, colors) {
    const [west, south, east, north] = this.values.view;
    context.fillStyle = colors.ink;
    for (const tile of this.values.tiles) {
      const text = fitText(context, tile.name, 120);
      const x = this.x((tile.x - west) / (east - west)) - context.measureText(text).width / 2;
      context.fillText(text, x, this.y((north - tile.y) / (north - south)) - 3);
    }
  }

  drawScaleBar(context, colors) {
    const metres = this.values.metres / this.magnified;
    if (!this.values.metres || metres > SCALE_BAR_METRES) return;
    const power = 10 ** Math.floor(Math.log10(metres / 4));
    const length = Math.max(...[1, 2, 5].map((step) => step * power).filter((step) => step <= metres / 4));
    const pixels = (length / metres) * this.width;
    const text = length >= 1000 ? sayNumber(length / 1000, 1) + " km" : sayNumber(length, Math.min(power, 1)) + " m";
    context.fillStyle = colors.ground;
    context.fillRect(MAP_LEFT + 8, this.height - 34, Math.max(pixels, context.measureText(text).width) + 12, 28);
    context.fillStyle = colors.ink;
    context.fillRect(MAP_LEFT + 14, this.height - 14, pixels, 3);
    context.fillText(text, MAP_LEFT + 14, this.height - 19);
  }

  move(x, y) {
    const half = 0.5 / this.magnified;
    const within = (value) => Math.min(Math.max(value, half), 1 - half);
    this.middle = [within(x), within(y)];
    this.state.change();
  }

  zoom(factor, at = this.middle) {
    const before = this.magnified;
    this.magnified = Math.min(Math.max(before * factor, 1), MOST_ZOOM);
    const keep = before / this.magnified;
    this.move(at[0] + (this.middle[0] - at[0]) * keep, at[1] + (this.middle[1] - at[1]) * keep);
    byId("map-words").textContent = this.magnified > 1 ? "Magnified " + this.magnified.toFixed(1) + " times." : "The whole map.";
  }

  whole() {
    this.magnified = 1;
    this.zoom(1, [0.5, 0.5]);
  }

  place(event) {
    return [(event.offsetX - MAP_LEFT) / this.width, event.offsetY / this.height].map((share, k) => this.middle[k] + (share - 0.5) / this.magnified);
  }

  connect() {
    const pan = 0.2;
    const by = (x, y) => this.move(this.middle[0] + (pan * x) / this.magnified, this.middle[1] + (pan * y) / this.magnified);
    byId("map-in").addEventListener("click", () => this.zoom(MAP_ZOOM));
    byId("map-out").addEventListener("click", () => this.zoom(1 / MAP_ZOOM));
    byId("map-whole").addEventListener("click", () => this.whole());
    const keys = {
      ArrowLeft: () => by(-1, 0),
      ArrowRight: () => by(1, 0),
      ArrowUp: () => by(0, -1),
      ArrowDown: () => by(0, 1),
      "+": () => this.zoom(MAP_ZOOM),
      "-": () => this.zoom(1 / MAP_ZOOM),
      Escape: () => this.whole(),
    };
    byId("map-frame").addEventListener("keydown", (event) => {
      if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      keys[event.key]();
    });
    this.connectPointer();
  }

  connectPointer() {
    const { canvas } = this;
    let dragged = null;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || this.magnified === 1) return;
      canvas.setPointerCapture(event.pointerId);
      dragged = { x: event.offsetX, y: event.offsetY, middle: this.middle };
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!dragged) {
        this.tell(event);
        return;
      }
      const x = (event.offsetX - dragged.x) / (this.width * this.magnified);
      const y = (event.offsetY - dragged.y) / (this.height * this.magnified);
      this.move(dragged.middle[0] - x, dragged.middle[1] - y);
    });
    for (const name of ["pointerup", "pointercancel"])
      canvas.addEventListener(name, () => {
        dragged = null;
      });
    canvas.addEventListener("dblclick", (event) => this.zoom(MAP_ZOOM, this.place(event)));
    canvas.addEventListener("pointerleave", () => (byId("map-cursor").textContent = ""));
    canvas.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey && !event.metaKey) return;
        event.preventDefault();
        this.zoom(event.deltaY < 0 ? MAP_ZOOM : 1 / MAP_ZOOM, this.place(event));
      },
      { passive: false },
    );
  }

  /* Says which place and cluster is under the pointer. */
  tell(event) {
    const { state, values } = this;
    const [west, south, east, north] = values.view;
    const [x, y] = this.place(event);
    const say = (a, b) => {
      const [one, two] = [west + a * (east - west), south + b * (north - south)];
      return values.earth ? sayDegrees(one, "E", "W", 2) + " " + sayDegrees(two, "N", "S", 2) : sayNumber(one, (east - west) / 1000) + ", " + sayNumber(two, (north - south) / 1000);
    };
    let words = values.tiles.length ? "" : say(x, 1 - y);
    if (values.codes) {
      const near = this.nearest(x, y);
      if (near >= 0) {
        const index = state.index(values.codes[state.shown][near]);
        const where = values.tiles.length ? "" : " at " + say(values.x[near] / STORED_PLACES, values.y[near] / STORED_PLACES);
        words = (index === state.numbers ? "noise" : "cluster " + index) + where;
      }
    }
    byId("map-cursor").textContent = words;
  }

  /* The point within eight pixels that is nearest to a place; -1 without one. */
  nearest(x, y) {
    const { state, values } = this;
    const codes = values.codes[state.shown];
    const across = this.width * this.magnified;
    const upward = this.height * this.magnified;
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

function sayDegrees(degrees, positive, negative, digits = 6) {
  const turned = positive === "E" ? ((((degrees + 180) % 360) + 360) % 360) - 180 : degrees;
  const rounded = Number(turned.toFixed(digits));
  const side = rounded === 0 || rounded === -180 ? "" : rounded > 0 ? positive : negative;
  return Math.abs(rounded) + "°" + side;
}
