"use strict";

/* The legend: switches of clusters, which the whole page follows, and the shares of the labelling that is shown. */

class Legend {
  constructor(state) {
    this.state = state;
    this.switches = [...document.querySelectorAll("[data-switch]")];
    for (const box of this.switches) {
      box.checked = true;
      box.addEventListener("change", () => this.toggle(this.indexOf(box.dataset.switch), box.checked));
    }
    for (const button of document.querySelectorAll("[data-only]")) button.addEventListener("click", () => this.only(this.indexOf(button.dataset.only)));
    byId("show-all").addEventListener("click", () => this.showAll());
    state.listen(() => this.update());
  }

  indexOf(cluster) {
    return cluster === "-1" ? this.state.numbers : Number(cluster);
  }

  toggle(index, shown) {
    if (shown) this.state.hidden.delete(index);
    else this.state.hidden.add(index);
    this.state.change();
  }

  /* Shows one cluster; a second time, all of them again. */
  only(index) {
    const { hidden, numbers } = this.state;
    const alone = !hidden.has(index) && hidden.size === numbers;
    hidden.clear();
    if (!alone) for (let k = 0; k <= numbers; k++) if (k !== index) hidden.add(k);
    this.state.change();
  }

  showAll() {
    this.state.hidden.clear();
    this.state.change();
  }

  update() {
    const { state } = this;
    const key = state.shown + ":" + [...state.hidden].sort().join(" ");
    if (key === this.key) return; // only the window of time has changed
    this.key = key;
    const labelling = state.values.shown[state.shown];
    for (const box of this.switches) box.checked = !state.isHidden(this.indexOf(box.dataset.switch));
    for (const part of document.querySelectorAll("[data-cluster]")) part.classList.toggle("off", state.isHidden(this.indexOf(part.dataset.cluster)));
    for (const share of document.querySelectorAll("[data-share]")) share.textContent = sayShare(labelling.shares[this.indexOf(share.dataset.share)]);
    for (const item of document.querySelectorAll("[data-item]")) {
      const index = this.indexOf(item.dataset.item);
      item.hidden = labelling.shares[index] === 0;
      item.classList.toggle("faded", state.isHidden(index));
    }
    this.tell(labelling);
  }

  /* Says what is shown, where that has changed. */
  tell(labelling) {
    const { state } = this;
    const present = labelling.shares.map((share, k) => (share > 0 ? k : -1)).filter((k) => k >= 0);
    const seen = present.filter((k) => !state.isHidden(k)).map((k) => (k === state.numbers ? "noise" : String(k)));
    const words = seen.length === present.length ? "All are shown." : seen.length ? "Shown: " + seen.join(", ") + "." : "Nothing is shown.";
    setText(byId("selection"), words);
    byId("show-all").disabled = state.hidden.size === 0;
    const note = byId("labelling-note");
    note.hidden = state.shown === state.taken;
    setText(note, note.hidden ? "" : "Pictures and legend show another answer, " + labelling.words);
  }
}

/* The slider through other numbers of clusters. */
class Alternatives {
  constructor(state) {
    this.state = state;
    this.slider = byId("alternative");
    if (!this.slider) return;
    this.slider.value = String(state.taken);
    this.slider.addEventListener("input", () => this.show(Number(this.slider.value)));
    byId("alternative-back").addEventListener("click", () => this.show(state.taken));
  }

  show(which) {
    const { state, slider } = this;
    const labelling = state.values.shown[which];
    state.shown = which;
    slider.value = String(which);
    slider.setAttribute("aria-valuetext", labelling.clusters);
    byId("alternative-words").textContent = labelling.words;
    byId("alternative-back").disabled = which === state.taken;
    state.change();
  }
}

/* Sets a text only where it changes, so that screen readers do not say it again. */
function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
