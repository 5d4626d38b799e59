// The view of every correction and of how the model came along.

import { get } from "./api.js";
import { button, count, el, fill, fixed, moment, named, percent, say } from "./dom.js";
import { effectLine, said } from "./effect.js";
import { outbox, undo } from "./outbox.js";
import { Plot, endOf, ticks } from "./plot.js";
import { session } from "./session.js";

const PAGE = 50;

class HistoryView {
  title = "History";
  records = [];
  following = null;

  constructor(root) {
    this.root = root;
    this.#build();
    this.again = () => this.load();
    outbox.addEventListener("sent", this.again);
    this.load();
  }

  keys = [{ keys: ["m"], does: "more corrections", run: () => this.following !== null && this.more() }];

  leave() {
    outbox.removeEventListener("sent", this.again);
  }

  #build() {
    this.notice = el("div", { class: "notice", id: "notice", role: "status" });
    this.stats = el("div", { id: "stats" });
    this.list = el("ol", { class: "entries history", id: "history" });
    this.foot = el("div", { class: "row" });
    fill(this.root, el("h1", {}, "History"), this.notice, this.stats,
      el("section", { "aria-labelledby": "list-heading" }, el("h2", { id: "list-heading" }, "Corrections"), this.list, this.foot));
  }

  async load() {
    try {
      const [stats, page] = await Promise.all([get("/v1/stats"), get("/v1/corrections", { newest: true, limit: PAGE })]);
      fill(this.stats, drift(stats), el("div", { class: "split even" }, learning(stats, this.root.clientWidth), figures(stats)));
      this.records = page.corrections;
      this.following = page.next;
      this.#draw();
    } catch (error) {
      this.#tell(error.message, true);
    }
  }

  async more() {
    try {
      const page = await get("/v1/corrections", { before: this.following, limit: PAGE });
      this.records.push(...page.corrections);
      this.following = page.next;
      this.#draw();
    } catch (error) {
      this.#tell(error.message, true);
    }
  }

  #draw() {
    const bySeq = new Map(this.records.map((record) => [record.seq, record]));
    fill(this.list, this.records.map((record) => this.#row(record, bySeq)));
    fill(this.foot, this.records.length ? null : el("p", { class: "none" }, "Nothing was corrected yet."),
      this.following === null ? null : button("More", () => this.more(), { id: "more" }));
  }

  #row(record, bySeq) {
    const isUndone = record.undone_by !== null && record.undone_by !== undefined;
    const what = el(isUndone ? "s" : "span", { class: "what" }, said(record));
    const mayUndo = !isUndone && ((record.kind === "correction" && session.mayCorrect) || (record.kind === "categories" && session.mayChange));
    return el("li", { class: isUndone ? "undone" : null, data: { seq: record.seq } },
      el("div", { class: "when" }, el("span", { class: "seq" }, `${record.seq}`), " ", moment(record.time)),
      el("div", { class: "body" },
        el("div", {}, named(record.user || "someone"), record.kind === "correction" ? ": " : " ", what, isUndone ? undoneBy(record, bySeq) : null),
        record.text ? el("div", { class: "excerpt", dir: "auto" }, record.text) : null,
        record.effect ? el("div", { class: "note effect" }, effectLine(record.effect)) : null),
      mayUndo ? button("Undo", (event) => this.undo(record, event.target), { class: "quiet", "aria-label": `Undo no. ${record.seq}` }) : el("span"));
  }

  async undo(record, pressed) {
    pressed.disabled = true;
    const outcome = await undo(record.id);
    pressed.disabled = false;
    if (outcome.refused) return this.#tell(`No. ${record.seq} could not be taken back: ${outcome.refused.message}`, true);
    return this.#tell(outcome.kept ? "It will be taken back as soon as the service answers." : `No. ${record.seq} is taken back, as if it had never been.`);
  }

  #tell(text, isFault = false) {
    fill(this.notice, el("p", { class: isFault ? "fault" : null }, text));
    say(text);
  }
}

function undoneBy(record, bySeq) {
  const undoing = bySeq.get(record.undone_by);
  return el("span", { class: "tag" }, " undone", undoing ? [" by ", named(undoing.user || "someone")] : "", ` (no. ${record.undone_by})`);
}

function drift({ drift: found, holdout }) {
  const alarms = [];
  if (found?.alarm) alarms.push(["The documents have changed.", found.message]);
  if (holdout?.alarm) alarms.push(["The held-out documents are predicted worse than before.", `Macro F1 ${fixed(holdout.macro_f1)}, at its best ${fixed(holdout.best_macro_f1)}.`]);
  return alarms.map(([title, text]) => el("div", { class: "caution", role: "alert" }, el("p", {}, el("strong", {}, title), " ", text)));
}

function figures({ corrections, undone, mistakes, error, window, sliding_error: sliding, users, holdout, documents, drift: found }) {
  const rows = [
    ["corrections", count(corrections), undone ? `${undone} undone` : ""],
    ["with a mistake", count(mistakes), corrections ? `${percent(error)} of them` : ""],
    [`of the last ${window}`, percent(sliding), corrections ? "with a mistake" : ""],
    ["documents reviewed", `${count(documents?.done)} of ${count(documents?.total)}`, documents?.unsure ? `${documents.unsure} unsure` : ""],
    ...(holdout ? [["macro F1, held out", fixed(holdout.macro_f1), `best ${fixed(holdout.best_macro_f1)}; ${count(holdout.documents)} documents`], ["micro F1, held out", fixed(holdout.micro_f1), ""]] : []),
  ];
  return el("section", { "aria-labelledby": "figures-heading" }, el("h2", { id: "figures-heading" }, "So far"),
    el("dl", { class: "figures" }, rows.map(([label, value, more]) => el("div", {}, el("dt", {}, label), el("dd", {}, value, more ? el("small", {}, ` ${more}`) : null)))),
    el("p", { class: "note" }, teachers(users), found && !found.alarm && found.message ? ` ${found.message}` : ""));
}

function teachers(users) {
  const all = Object.entries(users ?? {}).sort((a, b) => b[1] - a[1]);
  return all.length ? ["By ", ...all.flatMap(([name, number], i) => [i ? ", " : "", named(name || "someone"), ` ${number}`]), "."] : [];
}

function learning({ curve, window }, width) {
  const heading = el("h2", { id: "learning-heading" }, "Learning curve");
  const section = el("section", { "aria-labelledby": "learning-heading" }, heading);
  if (!curve?.length) {
    section.append(el("p", { class: "none" }, "It begins with the first corrections."));
    return section;
  }
  const last = curve.at(-1);
  const most = Math.max(...curve.flatMap(({ error, sliding }) => [error, sliding]), 0.1);
  const plot = new Plot({ width: Math.min(560, width), height: 260, label: `Share of corrections with a mistake: ${percent(last.error)} of all ${last.corrections}, ${percent(last.sliding)} of the last ${window}`,
    x: { from: 0, to: last.corrections, ticks: ticks(last.corrections), shown: String, title: "corrections" },
    y: { from: 0, to: endOf(most), ticks: ticks(endOf(most)), shown: percent, title: "with a mistake" } });
  plot.line(curve.map(({ corrections, error }) => [corrections, error]), "for");
  plot.line(curve.map(({ corrections, sliding }) => [corrections, sliding]), "against");
  plot.node.setAttribute("role", "img");
  section.append(el("figure", {}, plot.node, el("figcaption", { class: "keyline" },
    el("span", {}, el("i", { class: "stroke for" }), "of all so far"), el("span", {}, el("i", { class: "stroke against" }), `of the last ${window}`))));
  return section;
}

export const open = (root) => new HistoryView(root);
