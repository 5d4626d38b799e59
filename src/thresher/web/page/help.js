// The dialog that lists the keys; `h` and the button in the header open it.

import { show } from "./ask.js";
import { el, key } from "./dom.js";
import { keysInUse, keysWanted, wantKeys } from "./keys.js";

const NAMES = new Map([
  ["ArrowDown", "\u2193"],
  ["ArrowUp", "\u2191"],
  ["ArrowLeft", "\u2190"],
  ["ArrowRight", "\u2192"],
  [" ", "Space"],
]);
const GOING = [
  ["c", "Categorize"],
  ["r", "Review"],
  ["t", "Categories"],
  ["h", "History"],
];

export function showHelp() {
  if (document.getElementById("keys")) return;
  const { view, everywhere } = keysInUse();
  const wanted = el("input", {
    type: "checkbox",
    checked: keysWanted(),
    on: { change: (event) => wantKeys(event.target.checked) },
  });
  show(
    "Keys",
    el(
      "div",
      { id: "keys", class: "keylist" },
      view.length ? [el("h3", {}, "On this view"), listOf(view)] : null,
      el("h3", {}, "Everywhere"),
      listOf([
        ...everywhere,
        ...GOING.map(([letter, place]) => ({ keys: [], shown: ["g", letter], does: `go to ${place}` })),
        { keys: [], shown: ["Esc"], does: "leave a field, so that the keys work" },
      ]),
      el("label", { class: "choice" }, wanted, el("span", {}, "Use single keys")),
    ),
  );
}

function listOf(bindings) {
  return el(
    "dl",
    {},
    bindings.map(({ keys, shown, does }) =>
      el(
        "div",
        {},
        el("dt", {}, shown ? shown.flatMap((one) => [key(one), " "]) : alternatives(keys)),
        el("dd", {}, does),
      ),
    ),
  );
}

function alternatives(keys) {
  const shown =
    keys.length > 3
      ? [key(keys[0]), " \u2013 ", key(keys.at(-1))]
      : keys.flatMap((one, i) => [i ? " or " : "", key(NAMES.get(one) ?? one)]);
  return shown;
}
