// Which documents to review, and in which order; and the button that adds some. Review shows it.

import { el, field } from "./dom.js";
import { filePicker } from "./dropping.js";

const PAUSE = 300; // milliseconds after the last letter of a search
const ORDERS = [
  ["uncertain", "least certain first"],
  ["diverse", "of each category in turn"],
  ["random", "in no order"],
];
const STATES = [
  ["open", "open"],
  ["unsure", "unsure"],
  ["done", "done"],
];

export class Filters {
  /** `wish` is what is wanted so far, `wants` hears of changes, `added` of files; null if none may be added. */
  constructor(wish, wants, added) {
    Object.assign(this, { wish, wants });
    this.category = this.#select("by-category", [["", "any category"]], "category");
    this.search = el("input", {
      id: "search",
      type: "search",
      placeholder: "Search",
      "aria-label": "Search the documents",
      on: { input: () => this.#searched() },
    });
    this.search.value = wish.q;
    const accept = ".txt,.csv,.tsv,.tab,.json,.jsonl,.ndjson,text/*";
    this.node = el(
      "div",
      { class: "row filters", role: "group", "aria-label": "Which documents" },
      field("Order", this.#select("order", ORDERS, "order")),
      field("Category", this.category),
      field("State", this.#select("state", STATES, "state")),
      el("div", { class: "field grow" }, this.search),
      added ? filePicker("add", "Add documents\u2026", added, { multiple: true, accept }) : null,
    );
  }

  /** Offer these categories. */
  name(names) {
    this.category.append(...names.map((name) => this.#option(name, name, "category")));
  }

  leave() {
    clearTimeout(this.timer);
  }

  #select(id, pairs, about) {
    const changed = (event) => this.wants({ [about]: event.target.value });
    return el(
      "select",
      { id, on: { change: changed } },
      pairs.map(([value, label]) => this.#option(value, label, about)),
    );
  }

  #option(value, label, about) {
    return el("option", { value, selected: this.wish[about] === value }, label);
  }

  #searched() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.wants({ q: this.search.value.trim() }), PAUSE);
  }
}
