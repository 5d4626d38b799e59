// The categories of a document under review, each to be ticked, rejected or left alone; review shows it.

import { button, el, fill, fixed, key, named, percent } from "./dom.js";
import { Bar, spoken, topOf } from "./ranking.js";

const NUMBERED = 9;

export class Toggles {
  constructor({ focused, changed, mayCorrect }) {
    this.node = el("ol", { class: "toggles", "aria-label": "Categories of this document" });
    Object.assign(this, { focused, changed, mayCorrect });
    this.reset([]);
  }

  /** Begin with another document, of which teachers may have spoken before. */
  reset(corrections, looked = null) {
    this.choices = new Map();
    this.rows = new Map();
    this.current = null;
    this.looked = looked; // the category to look at first, once it is among them
    this.before = new Map();
    for (const { accept, reject, categories } of corrections) {
      if (categories) this.before.forEach((_, name) => this.before.set(name, false));
      for (const name of [...(accept ?? []), ...(categories ?? [])]) this.before.set(name, true);
      for (const name of reject ?? []) this.before.set(name, false);
    }
    fill(this.node);
  }

  /** Show what the model says now; what a person touched stays as it is. */
  show(categories) {
    const found = new Map(categories.map((one) => [one.category, one]));
    for (const name of this.choices.keys()) if (!found.has(name)) found.set(name, this.choices.get(name).said);
    for (const [name, is] of this.before) if (is && !found.has(name)) found.set(name, unsaid(name));
    for (const [name, said] of found) {
      const old = this.choices.get(name);
      this.choices.set(
        name,
        old?.touched
          ? { ...old, said }
          : { said, ticked: this.before.get(name) ?? Boolean(said.accepted), rejected: false, touched: false },
      );
    }
    if (found.has(this.looked)) [this.current, this.looked] = [this.looked, null];
    if (!found.has(this.current)) this.current = [...found.keys()][0] ?? null;
    this.#draw();
  }

  /** Tick a category, which is added if it is not among them. */
  add(name, isNew) {
    const said = this.choices.get(name)?.said ?? unsaid(name);
    this.choices.set(name, { said, ticked: true, rejected: false, touched: true, isNew });
    this.current = name;
    this.#draw();
    this.#focus();
    this.changed();
  }

  get names() {
    return [...this.choices.keys()];
  }

  toggleNumber(number) {
    const name = this.names[number - 1];
    if (name !== undefined) this.toggle(name);
  }

  toggle(name = this.current) {
    const choice = this.choices.get(name);
    if (choice && this.mayCorrect) this.#set(name, { ticked: !choice.ticked, rejected: false });
  }

  reject(name = this.current) {
    const choice = this.choices.get(name);
    if (choice && this.mayCorrect) this.#set(name, { ticked: false, rejected: !choice.rejected });
  }

  step(by) {
    const place = this.names.indexOf(this.current) + by;
    const name = this.names[Math.min(this.names.length - 1, Math.max(0, place))];
    if (name === undefined) return;
    this.#look(name);
    this.#focus();
  }

  /** What saving says: {accept, reject}, or that there is none, and whether one of them is new. */
  get said() {
    const of = (wanted) => [...this.choices].filter(([, choice]) => wanted(choice)).map(([name]) => name);
    const accept = of((choice) => choice.ticked);
    const reject = of(isRejected);
    const isNew = of((choice) => choice.ticked && choice.isNew).length > 0;
    const body = accept.length || reject.length ? { accept, reject } : { categories: [] };
    return isNew ? { ...body, create_category: true } : body;
  }

  #set(name, change) {
    this.choices.set(name, { ...this.choices.get(name), ...change, touched: true });
    this.#mark(name);
    this.#look(name);
    this.changed();
  }

  #look(name) {
    const moved = this.current !== name;
    this.current = name;
    this.rows.forEach(({ node }, other) => node.classList.toggle("current", other === name));
    if (moved) this.focused(name);
  }

  #focus() {
    this.rows.get(this.current)?.box.focus();
  }

  #draw() {
    const had = this.node.contains(document.activeElement);
    const top = topOf([...this.choices.values()].map(({ said }) => said));
    this.rows = new Map(this.names.map((name, i) => [name, this.#row(name, i, top)]));
    fill(
      this.node,
      [...this.rows.values()].map(({ node }) => node),
    );
    this.names.forEach((name) => this.#mark(name));
    if (had) this.#focus();
  }

  #row(name, place, top) {
    const { said } = this.choices.get(name);
    const bar = new Bar();
    const known = Number.isFinite(said.score);
    if (known) bar.set(said, top);
    const box = el("input", {
      type: "checkbox",
      disabled: !this.mayCorrect,
      on: { change: () => this.toggle(name), focus: () => this.#look(name) },
    });
    const no = button("not", () => this.reject(name), {
      class: "no quiet",
      "aria-label": `not ${name}`,
      title: "Say that it is not this category (x)",
      disabled: !this.mayCorrect,
    });
    const node = el(
      "li",
      { class: "toggle", data: { category: name }, on: { click: () => this.#look(name) } },
      place < NUMBERED ? key(String(place + 1)) : el("span"),
      el("label", { class: "name" }, box, named(name)),
      el("span", { class: known ? "bar-cell" : "bar-cell unknown", title: known ? spoken(said) : null }, bar.node),
      el("span", { class: "score" }, known ? fixed(said.score) : ""),
      el("span", { class: "chance" }, known ? percent(said.probability) : ""),
      no,
    );
    node.classList.toggle("current", name === this.current);
    return { node, box, no };
  }

  #mark(name) {
    const choice = this.choices.get(name);
    const { node, box, no } = this.rows.get(name);
    box.checked = choice.ticked;
    node.classList.toggle("ticked", choice.ticked);
    node.classList.toggle("rejected", isRejected(choice));
    no.setAttribute("aria-pressed", String(isRejected(choice)));
  }
}

/** What the model accepted and a person did not, or what a person said no to. */
const isRejected = ({ said, ticked, rejected }) => rejected || (Boolean(said.accepted) && !ticked);

/** A category of which the model says nothing. */
export const unsaid = (category) => ({ category, accepted: false, score: NaN });
