// The page of one category: how well it does, its threshold, its words, its latest mistakes.

import { at, get } from "./api.js";
import { measuredOn } from "./categories.js";
import { renameCategory, retireCategory, setThreshold } from "./changes.js";
import { Curve } from "./curve.js";
import { button, count, el, fill, fixed, moment, named, percent, say } from "./dom.js";
import { effectLine, said } from "./effect.js";
import { wordRow } from "./lit.js";
import { undo } from "./outbox.js";
import { session } from "./session.js";

const FIGURES = [
  ["documents", "documents", count],
  ["precision", "precision", percent],
  ["recall", "recall", percent],
  ["f1", "F1", fixed],
  ["break_even", "break-even", fixed],
  ["features", "features kept", count],
  ["corrections", "corrections", count],
  ["threshold", "threshold", (value) => fixed(value, 3)],
];
const FIRST = 20;

class CategoryView {
  constructor(root, name) {
    this.root = root;
    this.name = name;
    this.title = name;
    this.notice = el("div", { class: "notice", id: "notice", role: "status" });
    this.load();
  }

  keys = [{ keys: ["b"], does: "back to all categories", run: () => (location.hash = "#categories") }];

  leave() {
    this.isLeft = true;
  }

  async load() {
    try {
      const found = await get(at("/v1/categories", this.name));
      if (!this.isLeft) this.#draw(found);
    } catch (error) {
      if (!this.isLeft) fill(this.root, this.#head(), el("p", { class: "fault", role: "alert" }, error.message));
    }
  }

  #head() {
    const tools = session.mayChange
      ? el(
          "div",
          { class: "row" },
          button("Rename\u2026", () => this.change(() => renameCategory(this.name)), { id: "rename" }),
          button("Retire\u2026", () => this.change(() => retireCategory(this.name)), { id: "retire" }),
        )
      : null;
    return el(
      "div",
      { class: "row between" },
      el(
        "div",
        {},
        el("p", { class: "over" }, el("a", { href: "#categories" }, "Categories")),
        el("h1", {}, named(this.name)),
      ),
      tools,
    );
  }

  #draw(found) {
    fill(
      this.root,
      this.#head(),
      this.notice,
      figures(found),
      found.measured_on ? measuredOn(found.measured_on) : null,
      el(
        "div",
        { class: "split even" },
        el(
          "section",
          { "aria-labelledby": "curve-heading" },
          el("h2", { id: "curve-heading" }, "Threshold"),
          (this.place = el("div")),
        ),
        el(
          "section",
          { "aria-labelledby": "category-words" },
          el("h2", { id: "category-words" }, "Words"),
          el("div", { class: "sides" }, side("for", "For it", found.for), side("against", "Against it", found.against)),
        ),
      ),
      el(
        "section",
        { "aria-labelledby": "mistakes-heading" },
        el("h2", { id: "mistakes-heading" }, "Latest mistakes"),
        this.#mistakes(found.mistakes ?? []),
      ),
    );
    this.#drawCurve(found);
  }

  #drawCurve({ curve, threshold }) {
    const known = (curve ?? []).filter(
      ({ precision, recall }) => Number.isFinite(precision) && Number.isFinite(recall),
    );
    if (!known.length) return fill(this.place, el("p", { class: "none" }, "There is nothing to measure it on yet."));
    const use = button("Use this threshold", () => this.use(drawn.point.threshold), {
      class: "primary",
      id: "use-threshold",
    });
    const drawn = new Curve(
      known,
      threshold,
      Math.min(560, this.place.clientWidth || 560),
      (moved) => (use.disabled = !moved.isMoved),
    );
    return fill(
      this.place,
      el(
        "p",
        { class: "note" },
        "Each point is a threshold. Drag the handle, or use the arrow keys on it; the ring is the threshold in use.",
      ),
      drawn.node,
      session.mayChange ? el("div", { class: "row" }, use) : null,
    );
  }

  async use(threshold) {
    await this.change(() => setThreshold(this.name, threshold));
    document.getElementById("threshold-handle")?.focus();
  }

  #mistakes(mistakes) {
    if (!mistakes.length) return el("p", { class: "none" }, "No correction found it wrong.");
    return el(
      "ul",
      { class: "entries" },
      mistakes.map((record) =>
        el(
          "li",
          {},
          el("div", {}, moment(record.time), " ", named(record.user || "someone"), " said: ", said(record)),
          el("div", { class: "excerpt", dir: "auto" }, record.text ?? ""),
          el(
            "div",
            { class: "row between" },
            el("span", { class: "note" }, effectLine(record.effect)),
            session.mayCorrect && !record.undone_by
              ? button("Undo", () => this.undo(record), { class: "quiet" })
              : null,
          ),
        ),
      ),
    );
  }

  async undo(record) {
    const outcome = await undo(record.id);
    this.#tell(
      outcome.refused
        ? outcome.refused.message
        : outcome.kept
          ? "It will be taken back as soon as the service answers."
          : "Taken back.",
      outcome.refused,
    );
    if (outcome.answer) await this.load();
  }

  async change(run) {
    try {
      const made = await run();
      if (!made) return;
      if (made.change === "retire") location.hash = "#categories";
      else if (made.change === "rename") location.hash = `#category/${encodeURIComponent(made.into)}`;
      else {
        await this.load();
        this.#tell(`The threshold is ${fixed(made.threshold, 3)} now.`);
      }
    } catch (error) {
      this.#tell(error.message, true);
    }
  }

  #tell(text, isFault = false) {
    fill(this.notice, el("p", { class: isFault ? "fault" : null }, text));
    say(text);
  }
}

function figures(found) {
  return el(
    "dl",
    { class: "figures" },
    FIGURES.filter(([name]) => found[name] !== undefined).map(([name, label, shown]) =>
      el("div", { data: { figure: name } }, el("dt", {}, label), el("dd", {}, shown(found[name]))),
    ),
  );
}

function side(kind, title, words = [], all = false) {
  const most = Math.max(...words.map(({ weight }) => Math.abs(weight)), 1e-9);
  const shown = all ? words : words.slice(0, FIRST);
  const box = el(
    "div",
    {},
    el(
      "table",
      { class: `words one ${kind}` },
      el("caption", {}, title),
      el(
        "tbody",
        {},
        shown.map(({ word, weight }) => wordRow(word, kind === "for" ? Math.abs(weight) : -Math.abs(weight), most)),
      ),
    ),
  );
  if (!words.length) box.append(el("p", { class: "none" }, "None."));
  if (shown.length < words.length)
    box.append(
      button(`All ${words.length}`, () => box.replaceWith(side(kind, title, words, true)), { class: "quiet" }),
    );
  return box;
}

export const open = (root, name) => new CategoryView(root, name);
