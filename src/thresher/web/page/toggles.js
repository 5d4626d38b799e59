// The categories of a document under review, each to be ticked, rejected or left alone; review shows it.

import { button, el, fill, fixed, isByMouse, key, named, percent } from "./dom.js";
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
    this.before = new Map(); // what teachers said of it: yes or no by category, the last word counts
    let isComplete = false;
    for (const { accept, reject, categories } of corrections) {
      if (categories) this.before.forEach((_, name) => this.before.set(name, false));
      for (const name of [...(accept ?? []), ...(categories ?? [])]) this.before.set(name, true);
      for (const name of reject ?? []) this.before.set(name, false);
      isComplete ||= Boolean(categories);
    }
    this.isSpokenOf = isComplete || this.before.size > 0;
    this.none = isComplete && ![...this.before.values()].includes(true); // "none of these" was said
    this.unticked = []; // the choices that "none of these" replaced
    fill(this.node);
  }

  /**
   * Show what the model says now; what a person touched stays as it is. Of a document that teachers spoke of, what they
   * said is ticked, and nothing else.
   */
  show(categories) {
    const found = new Map(categories.map((one) => [one.category, one]));
    for (const name of this.choices.keys()) if (!found.has(name)) found.set(name, this.choices.get(name).said);
    for (const name of this.before.keys()) if (!found.has(name)) found.set(name, unsaid(name));
    for (const [name, said] of found) {
      const old = this.choices.get(name);
      this.choices.set(
        name,
        old?.touched
          ? { ...old, said }
          : { said, touched: false, ...this.#first(name, said) },
      );
    }
    if (found.has(this.looked)) [this.current, this.looked] = [this.looked, null];
    if (!found.has(this.current)) this.current = [...found.keys()][0] ?? null;
    this.#draw();
  }

  /** How a category is before a person touches it. */
  #first(name, said) {
    const before = this.before.get(name);
    if (this.isSpokenOf) return { ticked: before === true, rejected: before === false && !this.none };
    return { ticked: Boolean(said.accepted) && !this.none, rejected: false };
  }

  /** Say that the document is in none of the categories, or take that back. */
  toggleNone() {
    if (!this.mayCorrect) return;
    this.none = !this.none;
    if (this.none) {
      this.unticked = [...this.choices];
      for (const [name, choice] of this.unticked)
        this.choices.set(name, { ...choice, ticked: false, rejected: false, touched: true });
    } else for (const [name, choice] of this.unticked) this.choices.set(name, choice);
    this.names.forEach((name) => this.#mark(name));
    this.changed();
  }

  /** Tick a category, which is added if it is not among them. */
  add(name, isNew) {
    const said = this.choices.get(name)?.said ?? unsaid(name);
    this.choices.set(name, { said, ticked: true, rejected: false, touched: true, isNew });
    this.none = false;
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

  /** Reject; after a click of the mouse the focus is on the row, as the button would keep Enter for itself. */
  #clickedNot(name, event) {
    this.reject(name);
    if (isByMouse(event)) this.rows.get(name).box.focus();
  }

  step(by) {
    const place = this.names.indexOf(this.current) + by;
    const name = this.names[Math.min(this.names.length - 1, Math.max(0, place))];
    if (name === undefined) return;
    this.#look(name);
    this.#focus();
  }

  /** What saving says: {accept, reject} and whether one of them is new, or that there is none; null if nothing. */
  get said() {
    if (this.none) return { categories: [] };
    const of = (wanted) => this.names.filter((name) => wanted(this.choices.get(name), name));
    const accept = of((choice) => choice.ticked);
    const reject = of((_, name) => this.#isRejected(name));
    if (!accept.length && !reject.length) return null;
    const isNew = of((choice) => choice.ticked && choice.isNew).length > 0;
    return { accept, reject, ...(isNew ? { create_category: true } : {}) };
  }

  /** Whether a person said no to a category, or unticked one that the model or a teacher had accepted. */
  #isRejected(name) {
    const { said, ticked, rejected, touched } = this.choices.get(name);
    const wasTicked = this.isSpokenOf ? this.before.get(name) === true : Boolean(said.accepted);
    return !this.none && (rejected || (touched && wasTicked && !ticked));
  }

  #set(name, change) {
    this.choices.set(name, { ...this.choices.get(name), ...change, touched: true });
    if (this.none) {
      this.none = false;
      this.names.forEach((other) => this.#mark(other));
    }
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
    const no = button("not", (event) => this.#clickedNot(name, event), {
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
    node.classList.toggle("rejected", this.#isRejected(name));
    no.setAttribute("aria-pressed", String(this.#isRejected(name)));
  }
}

/** A category of which the model says nothing. */
export const unsaid = (category) => ({ category, accepted: false, score: NaN });
