// Sends a correction and tells what became of it, with a way to take it back; categorize and review use it.

import { button, el, fill, key, listed, say } from "./dom.js";
import { effectTold } from "./effect.js";
import { newId, submit, undo } from "./outbox.js";
import { session } from "./session.js";

const PATIENCE = 3000; // milliseconds before someone at work is not kept waiting any longer

/** A place that tells of the last correction; `undone` is called when one was taken back. */
export class Telling {
  constructor(undone) {
    this.node = el("div", { class: "telling", id: "changed" });
    this.undone = undone;
    this.made = []; // what may be taken back, the last one first in line
  }

  /** Correct; returns the outcome, {answer}, {kept} or {refused}. */
  async correct(body, about = null) {
    const whole = { id: newId(), ...body, ...(session.isShared && session.user ? { user: session.user } : {}) };
    const sent = submit(whole);
    const outcome = await Promise.race([
      sent,
      new Promise((tell) => setTimeout(tell, PATIENCE, { kept: new Error("No answer yet.") })),
    ]);
    if (!outcome.refused) this.made.push({ id: whole.id, about });
    this.#tell(outcome);
    return outcome;
  }

  async undoLast() {
    const last = this.made.pop();
    if (!last) return this.say("There is nothing to take back.");
    const outcome = await undo(last.id);
    if (outcome.refused) {
      this.made.push(last);
      return this.fault(`It could not be taken back: ${outcome.refused.message}`);
    }
    this.say(
      outcome.kept ? "It will be taken back as soon as the service answers." : "Taken back, as if it had never been.",
    );
    return this.undone(last.about);
  }

  say(text) {
    fill(this.node, el("p", {}, text));
    say(text);
  }

  fault(text, ...more) {
    fill(this.node, el("p", { class: "fault" }, text), more);
    say(text);
  }

  clear() {
    fill(this.node);
  }

  #tell({ answer, kept, refused }) {
    if (refused) return this.#refused(refused);
    const told = kept
      ? [el("p", {}, `Kept in this browser, and sent as soon as possible. ${kept.message}`)]
      : effectTold(answer);
    fill(
      this.node,
      el("div", { class: "told" }, told),
      button(["Undo ", key("u")], () => this.undoLast(), { id: "undo" }),
    );
    return say(told.map((node) => node.textContent).join(" "));
  }

  #refused(error) {
    const nearest = error.nearest.length ? el("p", {}, "Nearest: ", ...listed(error.nearest), ".") : null;
    this.fault(`Refused: ${error.message}`, nearest);
  }
}
