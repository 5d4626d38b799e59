// The dialog of corrections that are not confirmed yet; the count in the header opens it.

import { show } from "./ask.js";
import { button, el, fill, many, moment, named } from "./dom.js";
import { said } from "./effect.js";
import { drop, isAtRisk, isOurs, outbox, retry, sendNow, unsent } from "./outbox.js";

export function showUnsent() {
  const list = el("div", { id: "unsent-list" });
  const redraw = () => draw(list);
  const dialog = show("Not sent yet", list);
  outbox.addEventListener("change", redraw);
  dialog.addEventListener("close", () => outbox.removeEventListener("change", redraw));
  redraw();
}

function draw(list) {
  const entries = unsent();
  const waiting = entries.filter((entry) => !entry.refused && isOurs(entry));
  fill(
    list,
    el(
      "p",
      { class: "note" },
      entries.length
        ? "These are kept in this browser and go out in their order, again and again until the service has confirmed them."
        : "Everything was sent.",
    ),
    isAtRisk()
      ? el(
          "p",
          { class: "fault" },
          "The browser has no room to keep them all: leave this page open until they are sent.",
        )
      : null,
    el("ul", { class: "entries" }, entries.map(row)),
    waiting.length
      ? el(
          "div",
          { class: "row" },
          button(`Send ${many(waiting.length, "correction")} now`, sendNow, { class: "primary" }),
        )
      : null,
  );
}

function row(entry) {
  const about = entry.body?.text ?? (entry.body?.document ? `document ${entry.body.document}` : "");
  return el(
    "li",
    {},
    el(
      "div",
      {},
      moment(new Date(entry.made).toISOString()),
      " ",
      el("strong", {}, entry.undoes ? "undo" : said(entry.body)),
    ),
    el("div", { class: "excerpt", dir: "auto" }, about.slice(0, 200)),
    isOurs(entry) || !entry.by
      ? null
      : el("p", { class: "note" }, "Made by ", named(entry.by), ", and sent when they sign in."),
    entry.refused
      ? [
          el("p", { class: "fault" }, `Refused: ${entry.refused.reason}`),
          el(
            "div",
            { class: "row" },
            button("Drop it", () => drop(entry.id), { class: "danger" }),
            button("Try again", () => retry(entry.id)),
          ),
        ]
      : null,
  );
}
