// How the model stands: alarms, figures and the learning curve; the history shows them.

import { count, el, fixed, many, named, percent } from "./dom.js";
import { Plot, endOf, ticks } from "./plot.js";

/** What is alarming: nodes. */
export function drift({ drift: found, holdout }) {
  const alarms = [];
  if (found?.alarm) alarms.push(["The documents have changed.", found.message]);
  if (holdout?.alarm)
    alarms.push([
      "The held-out documents are predicted worse than before.",
      `Macro F1 ${fixed(holdout.macro_f1)}, at its best ${fixed(holdout.best_macro_f1)}.`,
    ]);
  return alarms.map(([title, text]) =>
    el("div", { class: "caution", role: "alert" }, el("p", {}, el("strong", {}, title), " ", text)),
  );
}

/** The figures so far. */
export function figures({
  corrections,
  undone,
  mistakes,
  error,
  window,
  sliding_error: sliding,
  users,
  holdout,
  documents,
  drift: found,
}) {
  const rows = [
    ["corrections", count(corrections), undone ? `${undone} undone` : ""],
    ["with a mistake", count(mistakes), corrections ? `${percent(error)} of them` : ""],
    [`of the last ${window}`, percent(sliding), corrections ? "with a mistake" : ""],
    [
      "documents reviewed",
      `${count(documents?.done)} of ${count(documents?.total)}`,
      documents?.unsure ? `${documents.unsure} unsure` : "",
    ],
    ...(holdout
      ? [
          [
            "macro F1, held out",
            fixed(holdout.macro_f1),
            holdout.documents ? `best ${fixed(holdout.best_macro_f1)}; ${many(holdout.documents, "document")}` : "",
          ],
          ["micro F1, held out", fixed(holdout.micro_f1), ""],
        ]
      : []),
  ];
  return el(
    "section",
    { "aria-labelledby": "figures-heading" },
    el("h2", { id: "figures-heading" }, "So far"),
    el(
      "dl",
      { class: "figures" },
      rows.map(([label, value, more]) =>
        el("div", {}, el("dt", {}, label), el("dd", {}, value, more ? el("small", {}, ` ${more}`) : null)),
      ),
    ),
    el(
      "p",
      { class: "note" },
      teachers(users),
      leftOut(holdout),
      found && !found.alarm && found.message ? ` Drift: ${found.message.replace(/\.$/, "")}.` : "",
    ),
  );
}

/** Which held-out documents are not measured on, in a sentence. */
function leftOut(holdout) {
  if (!holdout?.taught) return "";
  return holdout.documents
    ? ` Held-out documents that were taught, and are left out: ${count(holdout.taught)}.`
    : ` All ${count(holdout.taught)} held-out documents were taught, so nothing is measured on them.`;
}

function teachers(users) {
  const all = Object.entries(users ?? {}).sort((a, b) => b[1] - a[1]);
  return all.length
    ? ["By ", ...all.flatMap(([name, number], i) => [i ? ", " : "", named(name || "someone"), ` ${number}`]), "."]
    : [];
}

/** The share of mistakes over time. */
export function learning({ curve, window }, width) {
  const heading = el("h2", { id: "learning-heading" }, "Learning curve");
  const section = el("section", { "aria-labelledby": "learning-heading" }, heading);
  if (!curve?.length) {
    section.append(el("p", { class: "none" }, "It begins with the first corrections."));
    return section;
  }
  const last = curve.at(-1);
  const most = Math.max(...curve.flatMap(({ error, sliding }) => [error, sliding]), 0.1);
  const plot = new Plot({
    width: Math.min(560, width),
    height: 260,
    label: `Share of corrections with a mistake: ${percent(last.error)} of all ${last.corrections}, ${percent(last.sliding)} of the last ${window}`,
    x: { from: 0, to: last.corrections, ticks: ticks(last.corrections), shown: String, title: "corrections" },
    y: { from: 0, to: endOf(most), ticks: ticks(endOf(most)), shown: percent, title: "with a mistake" },
  });
  plot.line(
    curve.map(({ corrections, error }) => [corrections, error]),
    "for",
  );
  const slides = curve.some(({ error, sliding }) => error !== sliding); // the same until there are more than the window
  if (slides)
    plot.line(
      curve.map(({ corrections, sliding }) => [corrections, sliding]),
      "against",
    );
  plot.node.setAttribute("role", "img");
  section.append(
    el(
      "figure",
      {},
      plot.node,
      el(
        "figcaption",
        { class: "keyline" },
        el("span", {}, el("i", { class: "stroke for" }), "of all so far"),
        slides ? el("span", {}, el("i", { class: "stroke against" }), `of the last ${window}`) : null,
      ),
    ),
  );
  return section;
}
