// The precision-recall curve of a category with a handle that walks along its thresholds; a category's page shows it.

import { el, fill, fixed, percent, svg } from "./dom.js";
import { PARTS, Plot } from "./plot.js";

export class Curve {
  /** `moved` hears of the point under the handle. */
  constructor(points, threshold, width, moved) {
    this.points = points.filter(({ precision, recall }) => Number.isFinite(precision) && Number.isFinite(recall));
    this.moved = moved;
    this.now = nearestTo(this.points, threshold);
    this.place = this.now;
    const axis = (title) => ({ from: 0, to: 1, ticks: PARTS, shown: (tick) => String(tick), title });
    this.plot = new Plot({
      width,
      height: Math.min(360, Math.round(0.75 * width)),
      label: "Precision and recall at every threshold",
      x: axis("recall"),
      y: axis("precision"),
    });
    this.readout = el("dl", { class: "readout", id: "readout" });
    this.node = el("figure", { class: "curve" }, this.plot.node, this.readout);
    this.#draw();
    this.#set(this.now);
  }

  get point() {
    return this.points[this.place];
  }

  get isMoved() {
    return this.place !== this.now;
  }

  #draw() {
    const { plot } = this;
    const at = this.points.map(({ precision, recall }) => [recall, precision]);
    plot.line(at, "for");
    const [x, y] = at[this.now];
    plot.dot([x, y], "now", 6);
    this.handle = plot.add(
      svg(
        "g",
        {
          class: "handle",
          id: "threshold-handle",
          role: "slider",
          tabindex: 0,
          "aria-label": "Threshold",
          "aria-valuemin": 0,
          "aria-valuemax": this.points.length - 1,
          on: { keydown: (event) => this.#pressed(event), pointerdown: (event) => this.#grabbed(event) },
        },
        svg("circle", { r: 22, class: "reach" }),
        svg("circle", { r: 8, class: "knob" }),
      ),
    );
    plot.node.addEventListener("click", (event) => this.#set(this.#nearest(event)));
  }

  #set(place) {
    this.place = Math.min(this.points.length - 1, Math.max(0, place));
    const { threshold, precision, recall } = this.point;
    this.handle.setAttribute(
      "transform",
      `translate(${this.plot.x(recall).toFixed(1)} ${this.plot.y(precision).toFixed(1)})`,
    );
    this.handle.setAttribute("aria-valuenow", this.place);
    this.handle.setAttribute(
      "aria-valuetext",
      `threshold ${fixed(threshold, 3)}, precision ${percent(precision)}, recall ${percent(recall)}`,
    );
    const f1 = precision + recall ? (2 * precision * recall) / (precision + recall) : 0;
    fill(
      this.readout,
      [
        ["threshold", fixed(threshold, 3)],
        ["precision", percent(precision)],
        ["recall", percent(recall)],
        ["F1", fixed(f1)],
      ].map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))),
    );
    this.moved(this);
  }

  #pressed(event) {
    const far = Math.max(1, Math.round(this.points.length / 10));
    const steps = new Map([
      ["ArrowRight", 1],
      ["ArrowUp", -1],
      ["ArrowLeft", -1],
      ["ArrowDown", 1],
      ["PageUp", -far],
      ["PageDown", far],
      ["Home", -this.points.length],
      ["End", this.points.length],
    ]);
    if (!steps.has(event.key)) return;
    event.preventDefault();
    this.#set(this.place + steps.get(event.key));
  }

  #grabbed(event) {
    event.preventDefault();
    this.handle.focus();
    this.handle.setPointerCapture(event.pointerId);
    const move = (moved) => this.#set(this.#nearest(moved));
    const end = () => this.handle.removeEventListener("pointermove", move);
    this.handle.addEventListener("pointermove", move);
    this.handle.addEventListener("pointerup", end, { once: true });
    this.handle.addEventListener("pointercancel", end, { once: true });
  }

  /** The point of the curve that is nearest to the pointer. */
  #nearest(event) {
    const [x, y] = this.plot.place(event);
    const far = ({ precision, recall }) => (this.plot.x(recall) - x) ** 2 + (this.plot.y(precision) - y) ** 2;
    return this.points.reduce((best, point, i) => (far(point) < far(this.points[best]) ? i : best), 0);
  }
}

function nearestTo(points, threshold) {
  const far = (point) => Math.abs(point.threshold - threshold);
  return points.reduce((best, point, i) => (far(point) < far(points[best]) ? i : best), 0);
}
