// Axes, lines and a handle in SVG; the precision-recall curve and the learning curve are drawn with it.

import { svg } from "./dom.js";

const EDGE = { left: 46, right: 14, top: 26, bottom: 40 };

export class Plot {
  constructor({ width, height, label, x, y }) {
    this.node = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "plot", role: "group", "aria-label": label });
    this.size = { width, height };
    [this.xs, this.ys] = [x, y];
    this.#grid();
  }

  x(value) {
    return (
      EDGE.left +
      ((value - this.xs.from) / (this.xs.to - this.xs.from || 1)) * (this.size.width - EDGE.left - EDGE.right)
    );
  }

  y(value) {
    return (
      this.size.height -
      EDGE.bottom -
      ((value - this.ys.from) / (this.ys.to - this.ys.from || 1)) * (this.size.height - EDGE.top - EDGE.bottom)
    );
  }

  add(...nodes) {
    this.node.append(...nodes);
    return nodes[0];
  }

  line(points, name) {
    const path = points.map(([x, y], i) => `${i ? "L" : "M"}${this.x(x).toFixed(1)} ${this.y(y).toFixed(1)}`).join("");
    return this.add(svg("path", { d: path || "M0 0", class: `line ${name}` }));
  }

  dot([x, y], name, radius = 4) {
    return this.add(svg("circle", { cx: this.x(x), cy: this.y(y), r: radius, class: `dot ${name}` }));
  }

  text(x, y, words, properties = {}) {
    return this.add(svg("text", { x, y, ...properties }, words));
  }

  /** Where a pointer is, in units of the plot. */
  place(event) {
    const box = this.node.getBoundingClientRect();
    return [
      ((event.clientX - box.left) / box.width) * this.size.width,
      ((event.clientY - box.top) / box.height) * this.size.height,
    ];
  }

  #grid() {
    const { width, height } = this.size;
    const [right, bottom] = [width - EDGE.right, height - EDGE.bottom];
    const grid = svg("g", { "aria-hidden": "true" });
    for (const tick of this.ys.ticks) {
      grid.append(
        svg("line", {
          class: tick === this.ys.from ? "axis" : "grid",
          x1: EDGE.left,
          x2: right,
          y1: this.y(tick),
          y2: this.y(tick),
        }),
        svg("text", { x: EDGE.left - 8, y: this.y(tick) + 4, "text-anchor": "end" }, this.ys.shown(tick)),
      );
    }
    for (const tick of this.xs.ticks) {
      grid.append(svg("text", { x: this.x(tick), y: bottom + 17, "text-anchor": "middle" }, this.xs.shown(tick)));
    }
    grid.append(svg("text", { class: "title", x: right, y: height - 4, "text-anchor": "end" }, this.xs.title));
    grid.append(svg("text", { class: "title", x: 0, y: 10 }, this.ys.title));
    this.node.append(grid);
  }
}

/** Round ticks from nought to at least `most`. */
export function ticks(most, wanted = 5) {
  const rough = Math.max(most, 1e-9) / wanted;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((times) => times * unit >= rough) * unit;
  return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, i) => i * step);
}

/** The end of an axis of shares. */
export const endOf = (most) => [0.1, 0.2, 0.25, 0.4, 0.5, 0.6, 0.8].find((end) => end >= most) ?? 1;

export const PARTS = [0, 0.25, 0.5, 0.75, 1];
