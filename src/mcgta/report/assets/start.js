"use strict";

/* Brings the page to life; where that fails, still pictures stay, and the page says so. */

async function start() {
  performance.mark("unpack");
  const values = await unpack("data");
  performance.measure("mcgta-unpack", "unpack");
  performance.mark("draw");
  const state = new PageState(values);
  document.documentElement.classList.add("scripted");
  for (const part of document.querySelectorAll(".live")) part.hidden = false;
  new Legend(state);
  new Alternatives(state);
  if (values.timeline) new Timeline(state);
  if (values.map) new PlaceMap(state);
  state.redraw();
  performance.measure("mcgta-draw", "draw");
  window.addEventListener("resize", () => state.change());
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => state.change());
  document.documentElement.dataset.ready = "true";
}

start().catch(() => {
  document.documentElement.classList.remove("scripted");
  for (const part of document.querySelectorAll(".live")) part.hidden = true;
  byId("downgrade").hidden = false;
});
