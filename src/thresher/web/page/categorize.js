// The view that categorizes a text as it is typed, shows why, and takes corrections.

import { TOO_LONG, categorize, get } from "./api.js";
import { askCategory } from "./ask.js";
import { Telling } from "./correcting.js";
import { button, el, fill, key, many, named, say, wholeText } from "./dom.js";
import { fileText, filePicker, takeDrops } from "./dropping.js";
import { lightUp, reckoning, wordList } from "./lit.js";
import { Ranking, rankingKey } from "./ranking.js";
import { session } from "./session.js";
import { unsaid } from "./toggles.js";

const PAUSE = 300;
const RETRY = 3000; // milliseconds, while the service cannot be reached
const SHOWN = 8;
const left = { text: "", chosen: null, all: false }; // what was on the view when it was last left

class CategorizeView {
  title = "Categorize";
  timer = 0;
  asking = null;
  answered = null; // the text that the shown categories are of
  picked = false; // whether a person chose, so that the choice outlives an answer
  found = [];
  explanations = new Map();

  constructor(root) {
    this.root = root;
    this.all = left.all;
    this.#build();
    this.stopDrops = takeDrops(root, ([file]) => this.open(file));
    const { chosen } = left;
    this.#empty();
    [this.chosen, this.picked] = [chosen, chosen !== null];
    this.begin();
  }

  async begin() {
    if (!session.names.length) await session.look().catch(() => {});
    if (this.input.value) await this.ask();
  }

  get keys() {
    const teaching = [
      { keys: ["a"], does: "accept the chosen category", run: () => this.correct("accept") },
      { keys: ["r"], does: "reject the chosen category", run: () => this.correct("reject") },
      { keys: ["n"], does: "accept another category", run: () => this.another() },
      { keys: ["u"], does: "take back the last correction", run: () => this.telling.undoLast() },
    ];
    return [
      { keys: ["t"], does: "write or paste a text", run: () => this.input.focus() },
      { keys: ["ArrowDown", "j"], does: "next category", run: () => this.ranking.step(1) },
      { keys: ["ArrowUp", "k"], does: "previous category", run: () => this.ranking.step(-1) },
      ...(session.mayCorrect ? teaching : []),
      { keys: [], shown: ["Ctrl", "Enter"], does: "categorize now, and go to the result", run: () => {} },
    ];
  }

  leave() {
    Object.assign(left, { text: this.input.value, chosen: this.picked ? this.chosen : null, all: this.all });
    clearTimeout(this.timer);
    this.asking?.abort();
    this.stopDrops();
  }

  #build() {
    this.input = el("textarea", {
      id: "text",
      rows: 11,
      spellcheck: "false",
      dir: "auto",
      placeholder: "Paste or type a text, or drop a file here",
      on: {
        input: () => this.typed(),
        keydown: (event) => this.pressed(event),
      },
    });
    this.input.value = left.text;
    this.status = el("p", { class: "note status", id: "status" });
    this.ranking = new Ranking("Categories by score", (name) => this.choose(name));
    this.results = el("div", { id: "results" });
    this.about = el("span", { class: "about" });
    this.judging = [
      ["Accept ", "a", "accept"],
      ["Reject ", "r", "reject"],
    ].map(([label, letter, how]) => button([label, key(letter)], () => this.correct(how), { id: how }));
    this.actions = el(
      "div",
      { class: "row actions", id: "actions", hidden: true },
      this.about,
      ...this.judging,
      button(["Another\u2026 ", key("n")], () => this.another(), { id: "another" }),
    );
    this.telling = new Telling(() => this.ask());
    this.litText = el("div", { class: "lit", id: "lit", dir: "auto" });
    this.why = el("h2", { id: "why" });
    this.reckoned = el("div");
    this.list = el("div", { id: "words" });
    this.below = [
      el(
        "section",
        { class: "reading", "aria-labelledby": "why", hidden: true },
        this.why,
        this.reckoned,
        this.litText,
      ),
      el(
        "section",
        { class: "reasons", "aria-labelledby": "words-heading", hidden: true },
        el("h2", { id: "words-heading" }, "Its words"),
        this.list,
      ),
    ];
    fill(
      this.root,
      el("h1", { class: "unseen" }, "Categorize"),
      el(
        "div",
        { class: "split desk" },
        el(
          "section",
          { class: "paper", "aria-label": "Text" },
          el("label", { class: "over", for: "text" }, "Text"),
          this.input,
          el(
            "div",
            { class: "row" },
            button(["Categorize ", key("Ctrl Enter")], () => this.ask(), { class: "primary", id: "categorize" }),
            filePicker("file", "Open a file\u2026", ([file]) => this.open(file), {
              accept: ".txt,.md,.csv,.json,.html,.xml,.eml,text/*",
            }),
            button("Clear", () => this.put(""), { class: "quiet", id: "clear" }),
          ),
          this.status,
        ),
        el(
          "section",
          { class: "ranked", "aria-labelledby": "ranked" },
          el("h2", { id: "ranked" }, "Categories"),
          this.results,
          this.actions,
          this.telling.node,
        ),
        this.below,
      ),
    );
  }

  typed() {
    clearTimeout(this.timer);
    this.picked = false;
    this.#markStale();
    this.timer = setTimeout(() => this.ask(), PAUSE);
  }

  /** Whether the categories that are shown, if any, are of another text than the one in the box. */
  get isStale() {
    return this.answered !== null && this.answered !== this.input.value;
  }

  #markStale() {
    for (const node of [this.results, this.actions, ...this.below]) node.classList.toggle("stale", this.isStale);
  }

  async pressed(event) {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    await this.ask();
    this.ranking.focus();
  }

  async open(file) {
    try {
      this.put(await fileText(file));
      say(`${file.name} was opened.`);
    } catch (error) {
      this.#fault(error);
    }
  }

  put(text) {
    this.input.value = text;
    this.picked = false;
    this.telling.clear();
    if (text) this.ask();
    else {
      this.#empty();
      this.input.focus();
    }
  }

  /** Ask for the categories of what is written. */
  async ask() {
    clearTimeout(this.timer);
    this.asking?.abort();
    const text = this.input.value;
    if (!text.trim()) return this.#empty();
    const asking = (this.asking = new AbortController());
    const wanted = this.picked && this.chosen !== null ? this.chosen : true;
    try {
      const answer = await this.#categorize(text, wanted, asking.signal);
      if (asking === this.asking) this.#answered(text, answer);
    } catch (error) {
      if (asking !== this.asking || asking.signal.aborted) return undefined;
      if (error.status && wanted !== true) {
        this.picked = false; // the category may be gone
        return this.ask();
      }
      this.#failed(text, error);
    }
    return undefined;
  }

  /** Show no categories of another text, and ask again soon if the service may be back. */
  #failed(text, error) {
    const isAway = error.status === undefined || error.passes;
    if (this.answered !== text) {
      this.#empty();
      const told = isAway ? "The categories appear here when the service answers." : "There are no categories to show.";
      fill(this.results, el("p", { class: "none" }, told));
    }
    this.#fault(error);
    if (isAway) this.timer = setTimeout(() => this.ask(), RETRY);
  }

  #categorize(text, explain, signal) {
    return categorize({ text, ...(this.all ? { all: true } : { top: SHOWN }), details: true, explain }, { signal });
  }

  #answered(text, answer) {
    const sameText = text === this.answered;
    this.answered = text;
    this.explanations = new Map((answer.explanations ?? []).map((one) => [one.category, one]));
    const said = answer.categories.length ? answer.categories : session.names.map(unsaid);
    this.found = withExplained(said, this.picked ? this.explanations.get(this.chosen) : null);
    if (!this.picked) this.chosen = this.found[0]?.category ?? null;
    if (!sameText) this.telling.clear();
    this.#show();
    this.#markStale();
    fill(this.status, remark(answer));
    say(spokenResult(this.found));
  }

  #show() {
    if (!this.found.length) {
      fill(this.results, el("p", { class: "none" }, "The model knows no category yet. Add one to begin."));
      return this.#tools();
    }
    if (!this.ranking.node.isConnected) fill(this.results, rankingKey(), this.ranking.node, (this.more = el("div")));
    this.ranking.show(this.found, this.chosen);
    fill(this.more, this.#moreOrLess());
    this.#tools();
    return this.#explain();
  }

  #moreOrLess() {
    if (!this.all && session.howMany <= this.found.length) return null;
    const label = this.all ? "Only the best" : `All ${session.howMany} categories`;
    return button(
      label,
      () => {
        this.all = !this.all;
        this.ask();
      },
      { class: "quiet", id: "all" },
    );
  }

  #tools() {
    this.actions.hidden = !session.mayCorrect;
    fill(this.about, this.chosen === null ? null : named(this.chosen));
    for (const one of this.judging) one.hidden = this.chosen === null;
  }

  #explain() {
    const explanation = this.explanations.get(this.chosen);
    for (const section of this.below) section.hidden = !explanation;
    if (!explanation) return;
    fill(this.why, explanation.accepted ? "Why " : "Why not ", named(this.chosen), "?");
    fill(this.reckoned, reckoning(explanation));
    fill(
      this.list,
      explanation.words.length
        ? wordList(explanation)
        : el("p", { class: "none" }, "No word of the text is known to the model."),
    );
    lightUp(this.litText, this.answered, explanation);
  }

  async choose(name) {
    this.chosen = name;
    this.picked = true;
    this.#tools();
    if (this.isStale) return this.ask();
    if (!this.explanations.has(name)) {
      const text = this.answered;
      const answer = await this.#categorize(text, name).catch((error) => this.#fault(error));
      if (!answer || text !== this.answered) return undefined;
      for (const one of answer.explanations ?? []) this.explanations.set(one.category, one);
      fill(this.status, remark(answer));
    }
    return this.chosen === name ? this.#explain() : undefined;
  }

  /** Accept or reject the category that is chosen: one of this text, not of the one before. */
  correct(how) {
    if (!session.mayCorrect || this.chosen === null || this.answered === null) return undefined;
    return this.isStale ? this.ask() : this.#teach({ [how]: [this.chosen] });
  }

  /** Correct the text in the box. */
  async #teach(said) {
    const [name] = said.accept ?? said.reject;
    const outcome = await this.telling.correct({ text: this.input.value, ...said });
    if (outcome.refused) return;
    this.chosen = name;
    this.picked = true;
    if (said.create_category) session.names.push(name);
    await this.ask();
  }

  async another() {
    if (!session.mayCorrect || !this.input.value.trim()) return;
    const answer = await askCategory(session.names);
    if (answer) await this.#teach({ accept: [answer.name], ...(answer.isNew ? { create_category: true } : {}) });
  }

  #empty() {
    this.answered = null;
    this.found = [];
    this.chosen = null;
    for (const section of this.below) section.hidden = true;
    this.actions.hidden = true;
    this.#markStale();
    fill(this.status, "");
    fill(
      this.results,
      el(
        "div",
        { class: "empty" },
        el(
          "p",
          {},
          "Its categories appear here as you type, with the words that decided. Correct what is wrong, and the model learns it at once.",
        ),
        button("Try a document to review", () => this.example(), { id: "example" }),
      ),
    );
  }

  async example() {
    try {
      const { documents } = await get("/v1/queue", { order: "random", limit: 1 });
      if (documents.length) this.put(wholeText(documents[0].text));
      else fill(this.status, "There is no document to review: add a file under Review.");
    } catch (error) {
      this.#fault(error);
    }
  }

  #fault(error) {
    fill(this.status, el("span", { class: "fault" }, error.message));
    say(error.message);
  }
}

/** The category that was asked for, though it is not among the best. */
function withExplained(categories, explanation) {
  if (!explanation || categories.some(({ category }) => category === explanation.category)) return categories;
  return [...categories, explanation];
}

/** What there is to say of an answer besides its categories. */
function remark({ categories, explanations }) {
  if (!categories.length) return "The model has learned nothing yet. Accept a category to begin.";
  return explanations ? "" : TOO_LONG;
}

function spokenResult(found) {
  const accepted = found.filter((one) => one.accepted).map((one) => one.category);
  return accepted.length
    ? `${many(accepted.length, "category", "categories")}: ${accepted.join(", ")}`
    : "No category is accepted.";
}

export const open = (root) => new CategorizeView(root);
