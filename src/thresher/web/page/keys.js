// The keyboard: single keys of the view that is open, and `g` with a letter to go to another. Never while someone types.

import { forget, remember, remembered } from "./memory.js";

const TYPING =
  'textarea, select, [contenteditable], input:not([type="checkbox"], [type="radio"], [type="button"], [type="file"])';
const OWN = new Map([
  ["Enter", "button, a, summary, [role=button]"],
  [" ", "button, summary, input, [role=button]"],
  ["ArrowUp", "[role=slider], input[type=radio]"],
  ["ArrowDown", "[role=slider], input[type=radio]"],
  ["ArrowLeft", "[role=slider], input[type=radio]"],
  ["ArrowRight", "[role=slider], input[type=radio]"],
]);
const PLACES = new Map([
  ["c", "#categorize"],
  ["r", "#review"],
  ["t", "#categories"],
  ["h", "#history"],
]);

let bindings = [];
let everywhere = [];
let going = 0;

/** Use these keys from now on: [{keys, does, run}]. */
export function useKeys(own) {
  bindings = own;
}

export const keysInUse = () => ({ view: bindings, everywhere });

export const keysWanted = () => remembered("keys") !== "off";
export const wantKeys = (wanted) => (wanted ? forget("keys") : remember("keys", "off"));

/** Begin to listen, with the keys that every view has. */
export function listen(common) {
  everywhere = common;
  document.addEventListener("keydown", pressed);
}

function pressed(event) {
  if (event.defaultPrevented || event.isComposing || document.querySelector("dialog[open]")) return;
  if (event.target.closest?.(TYPING)) {
    if (event.key === "Escape") stopTyping(event);
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || !keysWanted()) return;
  if (OWN.has(event.key) && event.target.closest?.(OWN.get(event.key))) return;
  if (went(event)) return;
  const found = [...bindings, ...everywhere].find((binding) => binding.keys.includes(event.key));
  if (!found) return;
  event.preventDefault();
  found.run(event);
}

function stopTyping(event) {
  event.preventDefault();
  event.target.blur();
  document.getElementById("main").focus({ preventScroll: true });
}

function went(event) {
  const place = Date.now() - going < 1500 ? PLACES.get(event.key) : undefined;
  going = event.key === "g" ? Date.now() : 0;
  if (place) location.hash = place;
  if (place || going) event.preventDefault();
  return Boolean(place || going);
}
