"use strict";

/* The map: marks with coastlines, a graticule and a scale bar; it can be moved and magnified. */

const MAP_LEFT = 72;
const MAP_BOTTOM = 22;
const MAP_HEIGHT = 600;
const MAP_ZOOM = 1.6;
const MOST_ZOOM = 64;
const SCALE_BAR_METRES = 200000;

class PlaceMap {
  constructor(state) {
    this.state = state;
    this.values = state.values.map;
    this.canvas = byId("map-canvas");
    this.middle = [0.5, 0.5];
    this.magnified = 1;
    this.marks = new MapMarks(this);
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
    this.marks.draw(context, colors);
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
      const near = this.marks.nearest(x, y);
      if (near >= 0) {
        const index = state.index(values.codes[state.shown][near]);
        const where = values.tiles.length ? "" : " at " + say(values.x[near] / STORED_PLACES, values.y[near] / STORED_PLACES);
        words = (index === state.numbers ? "noise" : "cluster " + index) + where;
      }
    }
    byId("map-cursor").textContent = words;
  }

}

function sayDegrees(degrees, positive, negative, digits = 6) {
  const turned = positive === "E" ? ((((degrees + 180) % 360) + 360) % 360) - 180 : degrees;
  const rounded = Number(turned.toFixed(digits));
  const side = rounded === 0 || rounded === -180 ? "" : rounded > 0 ? positive : negative;
  return Math.abs(rounded) + "°" + side;
}
