// Tells where teachers do not agree on a document; review shows it.

import { el, listed, named } from "./dom.js";

/** Who said what of the categories that teachers do not agree on. */
export function disagreement({ disagreement: names = [], corrections = [] }) {
  if (!names.length) return null;
  const who = (name, says) => [
    ...new Set(corrections.filter((one) => says(one, name)).map((one) => one.user || "someone")),
  ];
  return el(
    "div",
    { class: "caution", id: "disagreement" },
    el("p", {}, el("strong", {}, "Teachers disagree.")),
    names.map((name) =>
      el(
        "p",
        {},
        named(name),
        ": yes says ",
        ...listed(who(name, accepts)),
        "; no says ",
        ...listed(who(name, rejects)),
        ".",
      ),
    ),
  );
}

const accepts = ({ accept, categories }, name) => (accept ?? []).includes(name) || (categories ?? []).includes(name);
const rejects = ({ reject, categories }, name) =>
  (reject ?? []).includes(name) || (Array.isArray(categories) && !categories.includes(name));
