// A text with its words lit by what they add to a score, and those words as a list; categorize and review show it.

import { button, el, fill, fixed, many, named, plus, setSize } from "./dom.js";

const FAINT = 0.04; // of the strongest: what is weaker is not lit
const FIRST = 14; // words of the list before the rest is asked for

/** Return the text as pieces {text, total, names}; positions count code points. */
export function pieces(text, words) {
  const points = Array.from(text);
  const edges = new Map();
  for (const { word, contribution, positions } of words) {
    for (const [start, end] of positions ?? []) {
      edgeAt(edges, start).begins.push({ word, contribution });
      edgeAt(edges, end).ends.push(word);
    }
  }
  const found = [];
  const open = new Map();
  let from = 0;
  for (const place of [...edges.keys(), points.length].sort((a, b) => a - b)) {
    if (place > from) found.push(piece(points.slice(from, place).join(""), open));
    for (const word of edges.get(place)?.ends ?? []) open.delete(word);
    for (const { word, contribution } of edges.get(place)?.begins ?? []) open.set(word, contribution);
    from = Math.max(from, place);
  }
  return found;
}

function edgeAt(edges, place) {
  if (!edges.has(place)) edges.set(place, { begins: [], ends: [] });
  return edges.get(place);
}

function piece(text, open) {
  const total = [...open.values()].reduce((sum, value) => sum + value, 0);
  return { text, total, names: [...open.keys()] };
}

/** Show a text lit up by the words of an explanation, or as it is. */
export function lightUp(node, text, explanation) {
  const words = explanation?.words ?? [];
  const found = pieces(text, words);
  const most = Math.max(...found.map(({ total }) => Math.abs(total)), 1e-9);
  fill(
    node,
    found.map(({ text: part, total, names }) => {
      if (Math.abs(total) < FAINT * most || !/[\p{L}\p{N}]/u.test(part)) return part;
      const title = `${names.join(" + ")} ${plus(total)}`;
      const mark = el("mark", { class: total > 0 ? "for" : "against", title }, part);
      return setSize(mark, "--a", (0.08 + (0.4 * Math.abs(total)) / most).toFixed(3));
    }),
  );
}

/** The words of an explanation with bars to the right (for) and to the left (against). */
export function wordList(explanation, all = false) {
  const words = explanation.words.filter(({ contribution }) => contribution !== 0);
  const most = Math.max(...words.map(({ contribution }) => Math.abs(contribution)), 1e-9);
  const shown = all ? words : words.slice(0, FIRST);
  const table = el(
    "table",
    { class: "words" },
    el("caption", { class: "unseen" }, "Words and what they add to the score of ", named(explanation.category)),
    el(
      "thead",
      { class: "unseen" },
      el(
        "tr",
        {},
        el("th", { scope: "col" }, "word"),
        el("th", { scope: "col" }, "bar"),
        el("th", { scope: "col" }, "adds"),
      ),
    ),
    el(
      "tbody",
      {},
      shown.map(({ word, contribution }) => wordRow(word, contribution, most)),
    ),
  );
  const box = el("div", { class: "wordlist" }, table);
  if (shown.length < words.length) {
    box.append(
      button(`All ${words.length} words`, () => box.replaceWith(wordList(explanation, true)), { class: "quiet" }),
    );
  }
  return box;
}

export function wordRow(word, value, most) {
  const side = value > 0 ? "for" : "against";
  const bar = setSize(
    el("span", { class: `lean ${side}`, "aria-hidden": "true" }, el("i")),
    "--w",
    Math.abs(value) / most,
  );
  return el(
    "tr",
    { class: side },
    el("th", { scope: "row" }, named(word)),
    el("td", { class: "span" }, bar),
    el("td", { class: "num" }, plus(value)),
  );
}

/** How the words make the decision, in a sentence. */
export function reckoning({ category, accepted, raw, threshold, unknown }) {
  const verdict = accepted ? "accepted" : "not accepted";
  const strangers = unknown
    ? ` ${many(unknown, "word")} of the text ${unknown === 1 ? "is" : "are"} unknown to the model.`
    : "";
  return el(
    "p",
    { class: "note" },
    named(category),
    ` is ${verdict}: its words add up to ${fixed(raw)}, its threshold for this text is ${fixed(threshold)}.${strangers}`,
  );
}
