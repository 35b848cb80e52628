"use strict";

/* The timeline: an overview with a brush, strips of clusters, and courses of features in the window of time. */

const OVERVIEW_HEIGHT = 26;
const STRIP_HEIGHT = 52;
const GROUP_HEIGHT = 20;
const GROUP_GAP = 6;
const BAND_HEIGHT = 62;
const BAND_TITLE = 20;
const BAND_GAP = 10;
const AXIS_HEIGHT = 24;
const MORE_FEATURES = 3;
const ZOOM = 2;
const PAN = 0.2;

class Timeline {
  constructor(state) {
    const values = state.values.timeline;
    this.state = state;
    this.values = values;
    this.axis = new TimeAxis(values.axis);
    this.strips = values.strips.map((strips) => strips.map((strip) => new Strip(strip, state)));
    this.courses = new Courses(values, this.axis);
    this.features = values.shown;
    this.group = 0;
    this.cursor = null;
    this.dragged = null;
    this.overview = byId("time-overview");
    this.picture = byId("time-strips");
    this.lines = byId("time-courses");
    this.connect();
    state.listen(() => this.draw());
  }

  get several() {
    return this.values.groups.length > 1;
  }

  get left() {
    return this.several ? Math.min(130, 0.25 * this.width) : 0;
  }

  draw() {
    this.width = Math.max(byId("timeline").clientWidth, 200);
    this.colors = pageColors();
    this.drawOverview();
    this.drawStrips();
    this.drawCourses();
    this.tell();
  }

  current() {
    return this.strips[this.state.shown];
  }

  drawOverview() {
    const { state, colors } = this;
    const context = sizedContext(this.overview, this.width, OVERVIEW_HEIGHT);
    const box = { x: this.left, y: 3, width: this.width - this.left, height: OVERVIEW_HEIGHT - 6 };
    drawShares(context, this.current(), box, 0, 1, state, colors);
    const from = box.x + box.width * state.from;
    const to = Math.max(box.x + box.width * state.to, from + 3);
    context.fillStyle = colors.shade;
    context.fillRect(box.x, 0, from - box.x, OVERVIEW_HEIGHT);
    context.fillRect(to, 0, box.x + box.width - to, OVERVIEW_HEIGHT);
    context.strokeStyle = colors.ink;
    context.lineWidth = 1.5;
    context.strokeRect(from + 0.75, 0.75, Math.max(to - from - 1.5, 1.5), OVERVIEW_HEIGHT - 1.5);
    if (this.several) {
      context.fillStyle = colors.faint;
      context.fillText("all groups", 0, OVERVIEW_HEIGHT / 2 + 4);
    }
  }

  drawStrips() {
    const { state, colors, values } = this;
    const height = this.several ? GROUP_HEIGHT : STRIP_HEIGHT;
    const pitch = height + (this.several ? GROUP_GAP : 0);
    const context = sizedContext(this.picture, this.width, pitch * values.groups.length + AXIS_HEIGHT);
    const box = { x: this.left, y: 0, width: this.width - this.left, height, numbered: true };
    this.current().forEach((strip, group) => {
      drawShares(context, [strip], { ...box, y: group * pitch }, state.from, state.to, state, colors);
      if (!this.several) return;
      context.fillStyle = group === this.group ? colors.ink : colors.faint;
      context.fillText(fitText(context, values.groups[group], this.left - 10), 0, group * pitch + height / 2 + 4);
    });
    this.drawAxis(context, pitch * values.groups.length + 2);
    this.drawCursor(context, pitch * values.groups.length);
  }

  drawAxis(context, top) {
    const { state, colors } = this;
    const width = this.width - this.left;
    context.strokeStyle = colors.faint;
    context.fillStyle = colors.ink;
    context.lineWidth = 1;
    const most = Math.max(Math.floor(width / 85), 3);
    let end = -Infinity;
    for (const tick of this.axis.ticks(state.from, state.to, most)) {
      const x = this.left + (width * (tick.place - state.from)) / (state.to - state.from);
      const text = context.measureText(tick.label).width;
      context.beginPath();
      context.moveTo(x, top);
      context.lineTo(x, top + 4);
      context.stroke();
      const begin = Math.min(Math.max(x - text / 2, this.left), this.width - text);
      if (begin < end + 8) continue; // there is no room
      context.fillText(tick.label, begin, top + 17);
      end = begin + text;
    }
  }

  drawCourses() {
    const { state, colors, values } = this;
    const pitch = BAND_TITLE + BAND_HEIGHT + BAND_GAP;
    const context = sizedContext(this.lines, this.width, Math.max(pitch * this.features, 1));
    const visible = this.visiblePart(pitch * this.features);
    for (let feature = 0; feature < this.features; feature++) {
      const box = { x: this.left, y: feature * pitch + BAND_TITLE, width: this.width - this.left, height: BAND_HEIGHT };
      const [low, high] = values.ranges[feature];
      const step = 10 ** Math.floor(Math.log10((high - low) / 100));
      const ends = sayNumber(low, step) + " to " + sayNumber(high, step);
      const taken = context.measureText(ends).width;
      context.fillStyle = colors.ink;
      context.fillText(fitText(context, values.features[feature], box.width - taken - 12), box.x, box.y - 6);
      context.fillStyle = colors.faint;
      context.fillText(ends, this.width - taken, box.y - 6);
      context.fillStyle = colors.rule;
      context.fillRect(box.x, box.y + box.height, box.width, 1);
      const paths = this.courses.paths(this.group, feature, box, state.from, state.to);
      this.stroke(context, paths, box, visible ? [colors.ghost, colors.ghost] : [colors.band, colors.ink]);
      if (!visible) continue;
      context.save();
      context.clip(visible);
      this.stroke(context, paths, box, [colors.band, colors.ink]);
      context.restore();
    }
    this.drawCursor(context, pitch * this.features);
  }

  stroke(context, paths, box, strokes) {
    context.save();
    context.beginPath();
    context.rect(box.x, box.y - 2, box.width, box.height + 4);
    context.clip();
    context.lineWidth = 1;
    paths.forEach((path, place) => {
      context.strokeStyle = strokes[place];
      context.stroke(path);
    });
    context.restore();
  }

  /* The pixels in which a cluster that is not hidden holds the chosen group; null where nothing is hidden. */
  visiblePart(height) {
    const { state } = this;
    if (!state.hidden.size) return null;
    const path = new Path2D();
    const width = Math.round(this.width - this.left);
    const sums = new Float64Array(state.numbers + 1);
    for (let pixel = 0; pixel < width; pixel++) {
      sums.fill(0);
      const at = (place) => state.from + ((state.to - state.from) * place) / width;
      this.current()[this.group].addShares(at(pixel), at(pixel + 1), sums);
      if (sums.some((share, k) => share > 0 && !state.isHidden(k))) path.rect(this.left + pixel, 0, 1, height);
    }
    return path;
  }

  drawCursor(context, height) {
    const { state, colors } = this;
    const x = (place) => this.left + ((this.width - this.left) * (place - state.from)) / (state.to - state.from);
    if (this.dragged && this.dragged.kind === "zoom") {
      const [from, to] = [x(this.dragged.from), x(this.dragged.to)].sort((a, b) => a - b);
      context.fillStyle = colors.shade;
      context.fillRect(from, 0, to - from, height);
    }
    if (this.cursor === null) return;
    context.fillStyle = colors.ink;
    context.fillRect(Math.round(x(this.cursor)), 0, 1, height);
  }

  /* Says which part of the time is shown, and what clusters hold of it. */
  tell() {
    const { state } = this;
    const sums = new Float64Array(state.numbers + 1);
    for (const strip of this.current()) strip.addShares(state.from, state.to, sums);
    const total = sums.reduce((sum, share) => sum + share, 0);
    const parts = [];
    sums.forEach((share, k) => {
      if (share > 0) parts.push((k === state.numbers ? "noise" : "cluster " + k) + " " + sayShare(share / total));
    });
    const whole = state.to - state.from > 0.9999;
    const range = whole ? "All of the time" : this.axis.say(state.from) + " to " + this.axis.say(state.to);
    const many = parts.length > 12 ? parts.slice(0, 12).join(", ") + " and others" : parts.join(", ");
    setText(byId("time-words"), range + ": " + (many || "no rows") + ".");
    this.overview.setAttribute("aria-valuenow", String(Math.round(50 * (state.from + state.to))));
    this.overview.setAttribute("aria-valuetext", range);
  }

  /* Says what is under the pointer. */
  tellCursor() {
    const words = byId("time-cursor");
    if (this.cursor === null) {
      words.textContent = "";
      return;
    }
    const { state, values } = this;
    const pixel = (state.to - state.from) / (this.width - this.left);
    const sums = new Float64Array(state.numbers + 1);
    this.current()[this.group].addShares(this.cursor, this.cursor + pixel, sums);
    const parts = [];
    sums.forEach((share, k) => {
      if (share > 0) parts.push(k === state.numbers ? "noise" : "cluster " + k);
    });
    for (let feature = 0; feature < this.features; feature++) {
      const seen = this.courses.between(this.group, feature, this.cursor, this.cursor + pixel);
      if (!seen) continue;
      const [low, high] = values.ranges[feature];
      const step = 10 ** Math.floor(Math.log10((high - low) / 500));
      const same = seen[1] - seen[0] < step;
      parts.push(values.features[feature] + " " + sayNumber(seen[0], step) + (same ? "" : " to " + sayNumber(seen[1], step)));
    }
    const group = this.several ? values.groups[this.group] + ", " : "";
    words.textContent = group + this.axis.say(this.cursor) + ": " + parts.slice(0, 8).join(", ");
  }

  zoom(factor) {
    const { state } = this;
    const middle = 0.5 * (state.from + state.to);
    const half = Math.max(0.5 * (state.to - state.from) * factor, 2 * this.axis.step);
    state.setWindow(middle - half, middle + half);
  }

  pan(share) {
    const { state } = this;
    const by = share * (state.to - state.from);
    state.setWindow(state.from + by, state.to + by);
  }

  connect() {
    byId("time-earlier").addEventListener("click", () => this.pan(-PAN));
    byId("time-later").addEventListener("click", () => this.pan(PAN));
    byId("time-in").addEventListener("click", () => this.zoom(1 / ZOOM));
    byId("time-out").addEventListener("click", () => this.zoom(ZOOM));
    byId("time-whole").addEventListener("click", () => this.state.setWindow(0, 1));
    this.overview.addEventListener("keydown", (event) => this.onKey(event));
    this.connectBrush(this.overview, (x) => (x - this.left) / (this.width - this.left), "brush");
    const inWindow = (x) => this.state.from + ((this.state.to - this.state.from) * (x - this.left)) / (this.width - this.left);
    for (const canvas of [this.picture, this.lines]) {
      this.connectBrush(canvas, inWindow, "zoom");
      canvas.addEventListener("pointermove", (event) => this.onHover(event, inWindow));
      canvas.addEventListener("pointerleave", () => this.onLeave());
      canvas.addEventListener("dblclick", () => this.state.setWindow(0, 1));
    }
    this.connectChoices();
  }

  connectChoices() {
    const choose = byId("time-group");
    if (choose)
      choose.addEventListener("change", () => {
        this.group = Number(choose.value);
        this.state.change();
      });
    const more = byId("time-more");
    if (!more) return;
    more.addEventListener("click", () => {
      const all = this.values.features.length;
      this.features = this.features < all ? Math.min(this.features + MORE_FEATURES, all) : this.values.shown;
      more.textContent = this.features < all ? "More features" : "Fewer features";
      this.state.change();
    });
  }

  onKey(event) {
    const keys = {
      ArrowLeft: () => this.pan(-PAN),
      ArrowRight: () => this.pan(PAN),
      ArrowUp: () => this.zoom(1 / ZOOM),
      ArrowDown: () => this.zoom(ZOOM),
      "+": () => this.zoom(1 / ZOOM),
      "-": () => this.zoom(ZOOM),
      Home: () => this.state.setWindow(0, this.state.to - this.state.from),
      End: () => this.state.setWindow(1 - (this.state.to - this.state.from), 1),
      Escape: () => this.state.setWindow(0, 1),
    };
    if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keys[event.key]();
  }

  /* Lets a stretch of time be drawn with the pointer; within the window of the overview the window is moved. */
  connectBrush(canvas, placeOf, kind) {
    const place = (event) => Math.min(Math.max(placeOf(event.offsetX), 0), 1);
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      canvas.setPointerCapture(event.pointerId);
      const at = place(event);
      const { from, to } = this.state;
      const inside = kind === "brush" && to - from < 0.999 && at > from && at < to;
      this.dragged = { kind: inside ? "move" : kind, from: at, to: at, window: [from, to] };
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!this.dragged || !canvas.hasPointerCapture(event.pointerId)) return;
      this.dragged.to = place(event);
      const by = this.dragged.to - this.dragged.from;
      if (this.dragged.kind === "move") this.state.setWindow(this.dragged.window[0] + by, this.dragged.window[1] + by);
      else if (this.dragged.kind === "brush" && Math.abs(by) > 0.003) this.takeBrush();
      else this.state.change();
    });
    canvas.addEventListener("pointerup", () => {
      const dragged = this.dragged;
      this.dragged = null;
      if (dragged && dragged.kind === "zoom" && Math.abs(dragged.to - dragged.from) > 0.01 * (this.state.to - this.state.from)) this.state.setWindow(Math.min(dragged.from, dragged.to), Math.max(dragged.from, dragged.to));
      else this.state.change();
    });
    canvas.addEventListener("pointercancel", () => {
      this.dragged = null;
    });
  }

  takeBrush() {
    this.state.setWindow(Math.min(this.dragged.from, this.dragged.to), Math.max(this.dragged.from, this.dragged.to));
  }

  onHover(event, placeOf) {
    if (event.offsetX < this.left) return;
    if (this.several && event.currentTarget === this.picture && !this.dragged) this.group = Math.min(Math.floor(event.offsetY / (GROUP_HEIGHT + GROUP_GAP)), this.values.groups.length - 1);
    const choose = byId("time-group");
    if (choose) choose.value = String(this.group);
    this.cursor = placeOf(event.offsetX);
    this.tellCursor();
    this.state.change();
  }

  onLeave() {
    this.cursor = null;
    this.tellCursor();
    this.state.change();
  }
}
