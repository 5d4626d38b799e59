// The view that goes through the documents to review, one at a time.

import { TOO_LONG, at, categorize, patch } from "./api.js";
import { askCategory } from "./ask.js";
import { Telling } from "./correcting.js";
import { button, el, fill, fixed, isByMouse, key, listed, many, named, say, unseen, wholeText } from "./dom.js";
import { disagreement } from "./disagreement.js";
import { takeDrops } from "./dropping.js";
import { Filters } from "./filters.js";
import { lightUp, reckoning, wordList } from "./lit.js";
import { showProgress } from "./progress.js";
import { Queue } from "./queue.js";
import { addFiles, howToAdd } from "./adding.js";
import { session } from "./session.js";
import { Toggles, unsaid } from "./toggles.js";

const UNDECIDED = "Nothing is ticked. Tick a category, or choose \u201cNone of these\u201d.";
const tally = { saved: 0, wrong: 0 }; // since the page was opened
const wish = { order: "uncertain", category: "", q: "", state: "open" };

class ReviewView {
  title = "Review";
  busy = false;
  explanations = new Map();

  constructor(root) {
    this.root = root;
    this.#build();
    if (session.mayCorrect) this.stopDrops = takeDrops(root, (files) => this.add(files));
    this.begin();
  }

  async begin() {
    if (!session.names.length) await session.look().catch(() => {});
    this.filters.name(session.names);
    await this.reload();
  }

  get keys() {
    const numbers = Array.from({ length: 9 }, (_, i) => String(i + 1));
    const teaching = [
      {
        keys: numbers,
        does: "tick or untick a category",
        run: (event) => this.toggles.toggleNumber(Number(event.key)),
      },
      { keys: ["x"], does: "say that it is not the category looked at", run: () => this.toggles.reject() },
      { keys: ["0"], does: "say that it is none of the categories", run: () => this.none() },
      { keys: ["n"], does: "tick another category", run: () => this.another() },
      { keys: ["Enter"], does: "save, and go on", run: () => this.save() },
      { keys: ["?"], does: "set aside as unsure", run: () => this.unsure() },
      { keys: ["u"], does: "take back the last correction", run: () => this.telling.undoLast() },
    ];
    return [
      { keys: ["j", "ArrowRight"], does: "next document", run: () => this.next() },
      { keys: ["s"], does: "skip: go on without saving", run: () => this.next() },
      { keys: ["k", "ArrowLeft"], does: "previous document", run: () => this.previous() },
      { keys: ["ArrowDown"], does: "look at the next category", run: () => this.toggles.step(1) },
      { keys: ["ArrowUp"], does: "look at the previous category", run: () => this.toggles.step(-1) },
      { keys: ["/"], does: "search", run: () => this.filters.search.focus() },
      ...(session.mayCorrect ? teaching : []),
    ];
  }

  leave() {
    this.filters.leave();
    this.stopDrops?.();
  }

  #build() {
    this.filters = new Filters(
      wish,
      (change) => this.wants(change),
      session.mayCorrect ? (files) => this.add(files) : null,
    );
    this.progress = el("div", { class: "progress", id: "progress" });
    this.notice = el("div", { class: "notice", id: "notice", role: "status" });
    this.telling = new Telling((about) => this.#undone(about));
    this.toggles = new Toggles({
      mayCorrect: session.mayCorrect,
      focused: () => this.explain(),
      changed: () => this.#summarize(),
    });
    this.stage = el("div", { id: "stage" });
    fill(this.root, el("h1", { class: "unseen" }, "Review"), this.filters.node, this.progress, this.notice, this.stage);
    this.#buildStage();
  }

  #buildStage() {
    this.heading = el("h2", { id: "document-heading" });
    this.meta = el("div", { class: "meta" });
    this.litText = el("div", { class: "lit", id: "lit", dir: "auto" });
    this.article = el(
      "article",
      { tabindex: -1, id: "document", "aria-labelledby": "document-heading" },
      this.heading,
      this.meta,
      this.litText,
    );
    this.summary = el("p", { class: "note", id: "summary" });
    this.noneButton = button(["None of these ", key("0")], (event) => this.#clickedNone(event), {
      id: "none",
      "aria-pressed": "false",
    });
    this.why = el("div", { id: "words" });
    const tools = session.mayCorrect
      ? [
          button(["Save ", key("Enter")], () => this.save(), { class: "primary", id: "save" }),
          button(["Skip ", key("s")], () => this.next(), { id: "skip-document" }),
          button(["Unsure ", key("?")], () => this.unsure(), { id: "unsure" }),
        ]
      : [];
    this.tools = el(
      "div",
      { class: "row actions sticky" },
      button([arrow("\u2190"), unseen("Previous document"), key("k")], () => this.previous(), { id: "previous" }),
      button([arrow("\u2192"), unseen("Next document"), key("j")], () => this.next(), { id: "next" }),
      ...tools,
    );
    this.split = el(
      "div",
      { class: "split" },
      this.article,
      el(
        "section",
        { "aria-label": "Categories" },
        el("h2", {}, "Categories"),
        this.toggles.node,
        el(
          "div",
          { class: "row beneath" },
          this.summary,
          session.mayCorrect ? this.noneButton : null,
          session.mayCorrect ? button(["Another\u2026 ", key("n")], () => this.another(), { id: "another" }) : null,
        ),
        this.tools,
        this.telling.node,
        this.why,
      ),
    );
  }

  wants(change) {
    Object.assign(wish, change);
    this.reload();
  }

  async reload() {
    const queue = (this.queue = new Queue({ ...wish }));
    try {
      const first = await queue.begin();
      if (queue === this.queue) this.show(first);
    } catch (error) {
      this.#fault(error);
    }
  }

  /** Show a document, or that there is none. */
  show(document) {
    showProgress(this.progress, this.queue.counts, tally);
    this.explanations = new Map();
    if (!document) return this.#showNone();
    if (!this.split.isConnected) {
      this.tools.after(this.telling.node); // which may have been where there was no document
      fill(this.stage, this.split);
    }
    const text = wholeText(document.text);
    fill(this.heading, "Document ", named(document.id));
    fill(this.meta, this.#whereabouts(document), disagreement(document));
    fill(this.litText, text);
    fill(this.why);
    this.toggles.reset(document.corrections ?? [], wish.category || null);
    this.toggles.show(orAll(document.categories));
    this.summary.classList.remove("fault");
    this.#summarize();
    return this.#refresh(document);
  }

  #whereabouts({ uncertainty, in_range: inRange, state }) {
    const parts = [
      `${this.queue.place + 1} of ${Math.max(this.queue.matching, this.queue.documents.length)}`,
      state === "open" ? null : state,
      Number.isFinite(uncertainty)
        ? `nearest score ${fixed(uncertainty, 3)} from its threshold${inRange ? ", in doubt" : ""}`
        : null,
    ];
    return el("p", { class: "note" }, parts.filter(Boolean).join(" \u00b7 "));
  }

  /** What the model says of it by now, which may have learned since the page of the queue was made. */
  async #refresh(document) {
    const look = wish.category || this.toggles.current;
    try {
      const answer = await this.#categorize(document, look ?? true);
      if (document !== this.queue.current) return;
      this.toggles.show(withAsked(orAll(answer.categories), this.explanations.get(wish.category)));
      this.#summarize();
      this.explain();
    } catch (error) {
      if (document === this.queue.current) this.#fault(error);
    }
  }

  async #categorize(document, explain) {
    const answer = await categorize({ document: document.id, top: 6, details: true, explain });
    this.isTooLong = !answer.explanations;
    for (const one of answer.explanations ?? []) this.explanations.set(one.category, one);
    return answer;
  }

  /** Light the text up for the category that is looked at. */
  async explain() {
    const document = this.queue.current;
    const name = this.toggles.current;
    if (!document || name === null) return;
    if (!this.explanations.has(name)) await this.#categorize(document, name).catch(() => {});
    const explanation = this.explanations.get(name);
    if (document !== this.queue.current || name !== this.toggles.current) return;
    lightUp(this.litText, wholeText(document.text), explanation);
    fill(
      this.why,
      explanation
        ? [
            el("h2", {}, explanation.accepted ? "Why " : "Why not ", named(name), "?"),
            reckoning(explanation),
            wordList(explanation),
          ]
        : this.isTooLong && el("p", { class: "note" }, TOO_LONG),
    );
  }

  async another() {
    if (!this.queue.current || !session.mayCorrect) return;
    const answer = await askCategory(session.names);
    if (answer) this.toggles.add(answer.name, answer.isNew);
  }

  none() {
    if (this.queue.current) this.toggles.toggleNone();
  }

  /** After a click of the mouse the focus is on the document, as the button would keep Enter for itself. */
  #clickedNone(event) {
    this.none();
    if (isByMouse(event)) this.article.focus({ preventScroll: true });
  }

  #summarize() {
    if (this.toggles.said) this.summary.classList.remove("fault"); // not by an answer that comes after Enter
    this.noneButton.setAttribute("aria-pressed", String(this.toggles.none));
    fill(this.summary, session.mayCorrect ? saying(this.toggles.said) : "");
  }

  async save() {
    const document = this.queue.current;
    if (!document || this.busy || !session.mayCorrect) return;
    const said = this.toggles.said;
    if (!said) return this.#askToChoose();
    this.busy = true;
    const about = { id: document.id, wasWrong: 0 };
    const outcome = await this.telling
      .correct({ document: document.id, ...said }, about)
      .finally(() => (this.busy = false));
    if (outcome.refused) return;
    if (said.create_category) session.look().catch(() => {});
    about.wasWrong = Number(Boolean(outcome.answer?.effect?.mistakes?.length));
    tally.saved++;
    tally.wrong += about.wasWrong;
    document.corrections = [...(document.corrections ?? []), { user: session.user, ...said }];
    this.queue.settle(document, "done");
    await this.next();
  }

  /** Nothing is ticked, and an empty correction would teach that it is none of the categories. */
  #askToChoose() {
    this.summary.classList.add("fault");
    this.summary.scrollIntoView({ block: "nearest" });
    say(UNDECIDED);
  }

  async unsure() {
    const document = this.queue.current;
    if (!document || !session.mayCorrect) return;
    try {
      await patch(at("/v1/documents", document.id), { state: "unsure" });
      this.queue.settle(document, "unsure");
      this.telling.say("Set aside as unsure.");
      await this.next();
    } catch (error) {
      this.#fault(error);
    }
  }

  async next() {
    try {
      this.#arrive(await this.queue.next());
    } catch (error) {
      this.#fault(error);
    }
  }

  previous() {
    this.#arrive(this.queue.previous());
  }

  #arrive(document) {
    fill(this.notice);
    this.show(document);
    if (document) this.article.focus({ preventScroll: true });
    if (this.article.getBoundingClientRect().top < 0) window.scrollTo({ top: 0 });
  }

  async #undone({ id, wasWrong }) {
    tally.saved--;
    tally.wrong -= wasWrong;
    await patch(at("/v1/documents", id), { state: "open" }).catch(() => {}); // it is to be reviewed again
    const document = this.queue.goTo(id);
    if (document?.id !== id) return this.reload();
    document.corrections = (document.corrections ?? []).slice(0, -1);
    this.queue.settle(document, "open");
    return this.show(document);
  }

  #showNone() {
    const { total } = this.queue.counts;
    if (!total) return fill(this.stage, howToAdd());
    const skipped = this.queue.left;
    const told = skipped
      ? `That was the last one. ${many(skipped, "document")} skipped.`
      : `No document is ${wish.state}${wish.q || wish.category ? " and matches" : ""}.`;
    say(told);
    return fill(
      this.stage,
      el(
        "div",
        { class: "empty" },
        el("p", {}, told),
        skipped ? button("Begin again", () => this.reload(), { class: "primary" }) : null,
      ),
      this.telling.node,
    );
  }

  async add(files) {
    try {
      if (await addFiles(files, this.notice)) await this.reload();
    } catch (error) {
      this.#fault(error);
    }
  }

  #fault(error) {
    fill(this.notice, el("p", { class: "fault" }, error.message));
  }
}

/** What saving would say: nodes. */
function saying(said) {
  if (!said) return UNDECIDED;
  if (said.categories) return "Saving says: none of the categories.";
  const parts = [
    said.accept.length ? ["is ", ...listed(said.accept)] : null,
    said.reject.length ? ["is not ", ...listed(said.reject)] : null,
  ].filter(Boolean);
  return ["Saving says: ", ...parts.flatMap((part, i) => (i ? ["; ", ...part] : part)), "."];
}

/** What the model says, or all categories as long as it has learned nothing. */
const orAll = (categories) => (categories?.length ? categories : session.names.map(unsaid));

/** With the category that the queue is for, though it is not among the best. */
const withAsked = (categories, asked) =>
  !asked || categories.some(({ category }) => category === asked.category) ? categories : [...categories, asked];

const arrow = (sign) => el("span", { "aria-hidden": "true" }, sign);

export const open = (root) => new ReviewView(root);
