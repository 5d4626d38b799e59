// The view of all categories with how well they do, and the changes an admin may make to them.

import { button, count, el, fill, fixed, many, named, percent, say } from "./dom.js";
import { mergeCategories, newCategory, renameCategory, retireCategory } from "./changes.js";
import { changeSaid } from "./effect.js";
import { session } from "./session.js";

const COLUMNS = [
  { name: "name", label: "Category", text: true },
  { name: "documents", label: "Documents", shown: count },
  { name: "precision", label: "Precision", shown: percent, title: "of those accepted, how many are right" },
  { name: "recall", label: "Recall", shown: percent, title: "of those that are in it, how many are accepted" },
  { name: "f1", label: "F1", shown: fixed, bar: true, title: "the harmonic mean of precision and recall" },
  { name: "break_even", label: "Break-even", shown: fixed, title: "where precision and recall are equal" },
  { name: "features", label: "Features", shown: count, title: "kept for it" },
  { name: "corrections", label: "Corrections", shown: count },
  { name: "threshold", label: "Threshold", shown: (value) => fixed(value, 3) },
];
const sorting = { by: "name", down: false };
let filter = "";

class CategoriesView {
  title = "Categories";
  categories = [];
  chosen = new Set();

  constructor(root) {
    this.root = root;
    this.#build();
    this.load();
  }

  get keys() {
    return [
      { keys: ["/"], does: "filter", run: () => this.filter.focus() },
      ...(session.mayChange ? [{ keys: ["n"], does: "new category", run: () => this.change(newCategory) }] : []),
    ];
  }

  #build() {
    this.filter = el("input", {
      id: "filter",
      type: "search",
      placeholder: "Filter",
      "aria-label": "Filter the categories",
      on: {
        input: () => {
          filter = this.filter.value;
          this.#draw();
        },
      },
    });
    this.filter.value = filter;
    this.shown = el("span", { class: "note", id: "shown-count", role: "status" });
    this.measured = el("div", { id: "measured" });
    this.notice = el("div", { class: "notice", id: "notice", role: "status" });
    this.head = el("tr");
    this.body = el("tbody");
    this.tools = el("div", { class: "row", id: "changes", hidden: !session.mayChange });
    fill(
      this.root,
      el("div", { class: "row between" }, el("h1", {}, "Categories"), this.tools),
      this.measured,
      el(
        "div",
        { class: "row filters" },
        this.filter,
        this.shown,
        session.mayChange ? el("span", { class: "note hint" }, "Tick rows to rename, merge or retire them.") : null,
      ),
      this.notice,
      el(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": "Table of categories" },
        el(
          "table",
          { class: "sortable", id: "categories" },
          el("caption", { class: "unseen" }, "Categories and how well they do"),
          el("thead", {}, this.head),
          this.body,
        ),
      ),
    );
    this.#drawTools();
  }

  async load() {
    try {
      const found = await session.look();
      this.categories = found.categories;
      this.chosen = new Set([...this.chosen].filter((name) => session.knows(name)));
      fill(this.measured, measuredOn(found.measured_on));
      this.#drawHead();
      this.#draw();
    } catch (error) {
      this.#fault(error);
    }
  }

  #drawHead() {
    const heads = COLUMNS.map(({ name, label, text, title }) =>
      el(
        "th",
        {
          scope: "col",
          class: text ? "text" : null,
          "aria-sort": sorting.by === name ? (sorting.down ? "descending" : "ascending") : null,
        },
        button(label, () => this.sort(name), { data: { sort: name }, title }),
      ),
    );
    fill(
      this.head,
      session.mayChange ? el("th", { scope: "col", class: "tick" }, el("span", { class: "unseen" }, "Choose")) : null,
      heads,
    );
  }

  sort(name) {
    sorting.down = sorting.by === name ? !sorting.down : name !== "name";
    sorting.by = name;
    this.#drawHead();
    this.#draw();
    this.head.querySelector(`[data-sort="${name}"]`).focus();
  }

  #draw() {
    const wanted = filter.trim().toLowerCase();
    const found = this.categories.filter(({ name }) => name.toLowerCase().includes(wanted)).sort(byColumn);
    fill(
      this.body,
      found.map((category) => this.#row(category)),
      found.length
        ? null
        : el(
            "tr",
            {},
            el(
              "td",
              { colspan: COLUMNS.length + 1, class: "none" },
              this.categories.length ? "None is called that." : "There is no category yet.",
            ),
          ),
    );
    const all = many(this.categories.length, "category", "categories");
    this.shown.textContent = wanted ? `${found.length} of ${all}` : all;
  }

  #row(category) {
    const { name } = category;
    const box = el("input", {
      type: "checkbox",
      "aria-label": `Choose ${name}`,
      checked: this.chosen.has(name),
      on: { change: () => this.#tick(name, box.checked) },
    });
    return el(
      "tr",
      { data: { category: name } },
      session.mayChange ? el("td", { class: "tick" }, box) : null,
      el("th", { scope: "row" }, el("a", { href: `#category/${encodeURIComponent(name)}` }, named(name))),
      COLUMNS.slice(1).map(({ name: column, shown }) =>
        el("td", { class: Number.isFinite(category[column]) ? null : "none" }, shown(category[column])),
      ),
    );
  }

  #tick(name, is) {
    if (is) this.chosen.add(name);
    else this.chosen.delete(name);
    this.#drawTools();
  }

  #drawTools() {
    const names = [...this.chosen];
    const one = names.length === 1;
    fill(
      this.tools,
      button("New\u2026", () => this.change(newCategory), { id: "new-category" }),
      button("Rename\u2026", () => this.change(() => renameCategory(names[0])), { id: "rename", disabled: !one }),
      button("Merge\u2026", () => this.change(() => mergeCategories(names)), {
        id: "merge",
        disabled: names.length < 2,
      }),
      button("Retire\u2026", () => this.change(() => retireCategory(names[0])), { id: "retire", disabled: !one }),
    );
  }

  async change(run) {
    try {
      const made = await run();
      if (!made) return;
      this.chosen.clear();
      this.#drawTools();
      fill(this.notice, el("p", {}, "Done: ", changeSaid({ names: [made.name], ...made }), "."));
      await this.load();
    } catch (error) {
      this.#fault(error);
    }
  }

  #fault(error) {
    fill(this.notice, el("p", { class: "fault" }, error.message));
    say(error.message);
  }
}

/** What the measures were made on, and how far to trust them: nodes. */
export function measuredOn(on) {
  if (on?.held_out && !on.documents && on.taught)
    return el(
      "p",
      { class: "note" },
      `Nothing is measured: the model was taught all ${count(on.taught)} held-out documents. Serve with other documents for `,
      el("code", {}, "--holdout DATA"),
      ".",
    );
  if (!on?.documents) return el("p", { class: "note" }, "Nothing was measured yet.");
  const number = count(on.documents);
  if (on.held_out)
    return el(
      "p",
      { class: "note" },
      `Measured on ${number} documents that were held out and never learned.`,
      on.taught ? ` ${leftOut(on.taught)}` : "",
    );
  return el(
    "p",
    { class: "note" },
    `Measured on ${number} documents that the model has learned, so these figures flatter it. Serve with `,
    el("code", {}, "--holdout DATA"),
    " for honest ones.",
  );
}

/** How many held-out documents are not measured on, in a sentence. */
const leftOut = (taught) =>
  taught === 1
    ? "One more was taught since, and is left out."
    : `${count(taught)} more were taught since, and are left out.`;

/** Order by the column that sorts; what has no measure comes last either way. */
function byColumn(a, b) {
  const [x, y] = [a[sorting.by], b[sorting.by]];
  const missing = (x === null || x === undefined) - (y === null || y === undefined);
  if (missing) return missing;
  const order = typeof x === "string" ? x.localeCompare(y, "en", { numeric: true }) : x - y;
  return (sorting.down ? -order : order) || a.name.localeCompare(b.name, "en");
}

export const open = (root) => new CategoriesView(root);
