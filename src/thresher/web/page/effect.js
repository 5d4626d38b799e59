// What a correction said and what it changed, in words; categorize, review, a category's page and the history tell it.

import { el, fixed, listed, many, named } from "./dom.js";

const SHOWN = 8; // words that moved

const some = (names) => Array.isArray(names) && names.length > 0;
const parted = (parts, mark = "; ") => parts.flatMap((part, i) => (i ? [mark, part] : [part]));

/** What a record says: nodes. */
export function said(record) {
  if (record.kind === "undo") return ["took back ", takenBack(record)];
  if (record.kind === "skip") return ["left out ", takenBack(record)];
  if (record.kind === "categories") return changeSaid(record.change ?? {});
  if (Array.isArray(record.categories))
    return some(record.categories)
      ? ["all its categories: ", ...listed(record.categories)]
      : ["none of the categories"];
  const parts = [];
  if (some(record.accept)) parts.push(["is ", ...listed(record.accept)]);
  if (some(record.reject)) parts.push(["is not ", ...listed(record.reject)]);
  return parts.length ? parted(parts) : ["nothing"];
}

function takenBack(record) {
  const numbers = record.change?.seqs;
  return some(numbers) ? `no. ${numbers.join(", ")}` : "an earlier one";
}

/** What a change of the categories did: nodes. */
export function changeSaid({ change: kind, names = [], into, threshold }) {
  const name = names[0];
  if (kind === "rename") return ["renamed ", named(name), " to ", named(into)];
  if (kind === "merge") return ["merged ", ...listed(names), " into ", named(into)];
  if (kind === "retire") return ["retired ", named(name)];
  if (kind === "threshold") return ["set the threshold of ", named(name), ` to ${fixed(threshold, 3)}`];
  if (kind === "new") return ["made the category ", named(name)];
  return ["changed the categories"];
}

/** Its effect in a line: what was predicted, and how many words moved. */
export function effectLine(effect) {
  if (!effect) return [];
  const predicted = some(effect.predicted) ? ["predicted ", ...listed(effect.predicted)] : ["predicted none"];
  const moved = [...movedWords(effect.promoted, "promoted for"), ...movedWords(effect.demoted, "demoted for")];
  return parted([predicted, ...(moved.length ? moved : [some(effect.mistakes) ? "no word moved" : "was right"])]);
}

function movedWords(counts, how) {
  return Object.entries(counts ?? {}).map(([name, number]) => [`${many(number, "word")} ${how} `, named(name)]);
}

/** What an answered correction changed, with the words that moved most: nodes. */
export function effectTold(answer) {
  const effect = answer.effect ?? {};
  const told = [];
  if (some(answer.new_categories)) told.push(el("p", {}, "New: ", ...listed(answer.new_categories), "."));
  const words = new Map(Object.entries(answer.words ?? {}));
  for (const [counts, how] of [
    [effect.promoted, "promoted for"],
    [effect.demoted, "demoted for"],
  ]) {
    for (const [name, number] of Object.entries(counts ?? {})) {
      told.push(el("p", {}, el("strong", {}, many(number, "word"), ` ${how} `, named(name)), moves(words.get(name))));
    }
  }
  if (!told.length)
    told.push(el("p", {}, some(effect.mistakes) ? "Kept." : "Kept. The model had it right already, so no word moved."));
  return told;
}

function moves(words) {
  if (!some(words)) return ".";
  const shown = words.slice(0, SHOWN);
  return [
    ": ",
    ...shown.flatMap(({ word, before, after }, i) => [
      i ? ", " : "",
      el("span", { class: "move" }, named(word), " ", el("small", {}, `${fixed(before)} \u2192 ${fixed(after)}`)),
    ]),
    words.length > SHOWN ? " \u2026" : "",
  ];
}
