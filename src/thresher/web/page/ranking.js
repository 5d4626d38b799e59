// Categories ranked by score, as bars with the threshold marked on each; the views of categorize and review show it.

import { el, fill, fixed, named, percent, setSize, unseen } from "./dom.js";

/** A bar from nought to the score; accepted ones are solid, the others hollow. */
export class Bar {
  constructor() {
    this.node = el(
      "span",
      { class: "bar", "aria-hidden": "true" },
      el("i", { class: "fill" }),
      el("i", { class: "limit" }),
    );
  }

  set({ score, raw, threshold, accepted }, top) {
    if (!Number.isFinite(score)) return;
    this.node.classList.toggle("solid", Boolean(accepted));
    setSize(this.node, "--score", Math.min(1, Math.max(0, score) / top));
    setSize(this.node, "--limit", Math.min(1, Math.max(0, limitOf({ score, raw, threshold })) / top));
  }
}

/** Where the score is high enough: reported scores are 1 there. */
function limitOf({ score, raw, threshold }) {
  return Number.isFinite(raw) && Number.isFinite(threshold) ? score - raw + threshold : 1;
}

/** The right end of the bars. */
export const topOf = (categories) =>
  Math.max(1.5, ...categories.map(({ score }) => (Number.isFinite(score) ? 1.02 * score : 0)));

export function spoken({ category, accepted, score, probability }) {
  return `${category}: ${accepted ? "accepted" : "not accepted"}, score ${fixed(score)}, probability ${percent(probability)}`;
}

/** What the bars mean. */
export function rankingKey() {
  return el(
    "p",
    { class: "keyline", "aria-hidden": "true" },
    el("span", {}, el("i", { class: "swatch solid" }), "accepted"),
    el("span", {}, el("i", { class: "swatch" }), "not accepted"),
    el("span", {}, el("i", { class: "swatch limit" }), "threshold"),
  );
}

/** A list of categories of which one is chosen, by click or by arrow keys. */
export class Ranking {
  constructor(label, chose) {
    this.node = el("ol", {
      class: "ranking",
      role: "listbox",
      "aria-label": label,
      on: { keydown: (event) => this.#pressed(event) },
    });
    this.chose = chose;
    this.chosen = null;
    this.rows = new Map();
    this.order = [];
  }

  /** Show these; a row that was there before moves to its new length. */
  show(categories, chosen) {
    const hadFocus = this.node.contains(document.activeElement);
    const top = topOf(categories);
    const rows = new Map(
      categories.map((found) => [found.category, this.rows.get(found.category) ?? this.#row(found.category)]),
    );
    this.rows = rows;
    this.order = [...rows.keys()];
    this.node.replaceChildren(...[...rows.values()].map((row) => row.node));
    this.node.getBoundingClientRect(); // so that bars which were moved still grow from where they were
    for (const found of categories) this.#set(rows.get(found.category), found, top);
    this.choose(chosen);
    if (hadFocus) this.focus();
  }

  choose(name) {
    this.chosen = name;
    for (const [category, { node }] of this.rows) {
      node.setAttribute("aria-selected", String(category === name));
      node.tabIndex = category === name ? 0 : -1;
    }
    if (!this.rows.has(name) && this.order.length) this.rows.get(this.order[0]).node.tabIndex = 0;
  }

  /** Choose the next one, or with -1 the one before. */
  step(by) {
    const place = this.order.indexOf(this.chosen) + by;
    const name = this.order[Math.min(this.order.length - 1, Math.max(0, place))];
    if (name === undefined) return;
    this.choose(name);
    this.focus();
    this.chose(name);
  }

  focus() {
    this.rows.get(this.chosen)?.node.focus({ preventScroll: true });
    this.rows.get(this.chosen)?.node.scrollIntoView({ block: "nearest" });
  }

  #row(category) {
    const bar = new Bar();
    const sign = el("span", { class: "sign", "aria-hidden": "true" });
    const [score, chance] = ["score", "chance"].map((name) => el("span", { class: name }));
    const choose = () => {
      this.choose(category);
      this.chose(category);
    };
    const node = el(
      "li",
      { role: "option", class: "rank", data: { category }, on: { click: choose } },
      sign,
      el("span", { class: "name" }, named(category)),
      bar.node,
      score,
      chance,
    );
    return { node, bar, sign, score, chance };
  }

  #set(row, found, top) {
    row.bar.set(found, top);
    row.node.classList.toggle("accepted", Boolean(found.accepted));
    row.sign.textContent = found.accepted ? "\u2713" : "";
    fill(row.score, unseen(found.accepted ? " accepted, score " : " not accepted, score "), fixed(found.score));
    fill(row.chance, unseen(" probability "), percent(found.probability));
  }

  #pressed(event) {
    const by = new Map([
      ["ArrowDown", 1],
      ["ArrowUp", -1],
      ["Home", -this.order.length],
      ["End", this.order.length],
    ]).get(event.key);
    if (!by) return;
    event.preventDefault();
    this.step(by);
  }
}
