// The view of every correction and of how the model came along.

import { get } from "./api.js";
import { button, el, fill, moment, named, say } from "./dom.js";
import { effectLine, said } from "./effect.js";
import { outbox, undo } from "./outbox.js";
import { session } from "./session.js";
import { drift, figures, learning } from "./standing.js";

const PAGE = 50;
const RETRY = 3000; // milliseconds, while the service cannot be reached

class HistoryView {
  title = "History";
  records = [];
  following = null;
  timer = 0;
  isUnread = false; // the notice says that loading failed

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
    clearTimeout(this.timer);
  }

  #build() {
    this.notice = el("div", { class: "notice", id: "notice", role: "status" });
    this.stats = el("div", { id: "stats" });
    this.list = el("ol", { class: "entries history", id: "history" });
    this.foot = el("div", { class: "row" });
    fill(
      this.root,
      el("h1", {}, "History"),
      this.notice,
      this.stats,
      el(
        "section",
        { "aria-labelledby": "list-heading" },
        el("h2", { id: "list-heading" }, "Corrections"),
        this.list,
        this.foot,
      ),
    );
  }

  async load() {
    clearTimeout(this.timer);
    try {
      const [stats, page] = await Promise.all([
        get("/v1/stats"),
        get("/v1/corrections", { newest: true, limit: PAGE }),
      ]);
      fill(
        this.stats,
        drift(stats),
        el("div", { class: "split even" }, learning(stats, this.root.clientWidth), figures(stats)),
      );
      this.records = page.corrections;
      this.following = page.next;
      this.#draw();
      if (this.isUnread) fill(this.notice);
      this.isUnread = false;
    } catch (error) {
      if (!this.isUnread) this.#tell(error.message, true);
      this.isUnread = true;
      if (error.status === undefined || error.passes) this.timer = setTimeout(this.again, RETRY);
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
    fill(
      this.list,
      this.records.map((record) => this.#row(record, bySeq)),
    );
    fill(
      this.foot,
      this.records.length ? null : el("p", { class: "none" }, "Nothing was corrected yet."),
      this.following === null ? null : button("More", () => this.more(), { id: "more" }),
    );
  }

  #row(record, bySeq) {
    const isUndone = record.undone_by !== null && record.undone_by !== undefined;
    const what = el(isUndone ? "s" : "span", { class: "what" }, said(record));
    const mayUndo =
      !isUndone &&
      ((record.kind === "correction" && session.mayCorrect) || (record.kind === "categories" && session.mayChange));
    return el(
      "li",
      { class: isUndone ? "undone" : null, data: { seq: record.seq } },
      el("div", { class: "when" }, el("span", { class: "seq" }, `${record.seq}`), " ", moment(record.time)),
      el(
        "div",
        { class: "body" },
        el(
          "div",
          {},
          named(record.user || "someone"),
          record.kind === "correction" ? ": " : " ",
          what,
          isUndone ? undoneBy(record, bySeq) : null,
        ),
        record.text ? el("div", { class: "excerpt", dir: "auto" }, record.text) : null,
        record.effect ? el("div", { class: "note effect" }, effectLine(record.effect)) : null,
      ),
      mayUndo
        ? button("Undo", (event) => this.undo(record, event.target), {
            class: "quiet",
            "aria-label": `Undo no. ${record.seq}`,
          })
        : el("span"),
    );
  }

  async undo(record, pressed) {
    pressed.disabled = true;
    const outcome = await undo(record.id);
    pressed.disabled = false;
    if (outcome.refused)
      return this.#tell(`No. ${record.seq} could not be taken back: ${outcome.refused.message}`, true);
    return this.#tell(
      outcome.kept
        ? "It will be taken back as soon as the service answers."
        : `No. ${record.seq} is taken back, as if it had never been.`,
    );
  }

  #tell(text, isFault = false) {
    fill(this.notice, el("p", { class: isFault ? "fault" : null }, text));
    say(text);
  }
}

function undoneBy(record, bySeq) {
  const undoing = bySeq.get(record.undone_by);
  return el(
    "span",
    { class: "tag" },
    " undone",
    undoing ? [" by ", named(undoing.user || "someone")] : "",
    ` (no. ${record.undone_by})`,
  );
}

export const open = (root) => new HistoryView(root);
