// Builds the page's nodes; every view calls it. Texts of others become text nodes, never markup.

const SVG = "http://www.w3.org/2000/svg";

/** Return an element: `properties` are attributes, but for `on` (listeners) and `data`; false and null leave one out. */
export function el(tag, properties = {}, ...children) {
  return filled(document.createElement(tag), properties, children);
}

export function svg(tag, properties = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), properties, children);
}

function filled(node, { on = {}, data = {}, ...attributes }, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value === true ? "" : value);
  }
  for (const [name, run] of Object.entries(on)) node.addEventListener(name, run);
  for (const [name, value] of Object.entries(data)) node.dataset[name] = value;
  put(node, children);
  return node;
}

function put(node, children) {
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
}

/** Give a node other children. */
export function fill(node, ...children) {
  node.replaceChildren();
  put(node, children);
  return node;
}

/** A name of someone's making, whose writing direction stays its own. */
export const named = (text) => el("bdi", {}, text);

/** Names with commas between them. */
export const listed = (names) => names.flatMap((name, i) => (i ? [", ", named(name)] : [named(name)]));

export const button = (label, run, properties = {}) =>
  el("button", { type: "button", on: { click: run }, ...properties }, label);

/** Whether a click is one of the mouse, and not of a key. */
export const isByMouse = (event) => event.detail > 0;

export const key = (text) => el("kbd", {}, text);

/** A label with its field below or next to it. */
export const field = (label, input, properties = {}) =>
  el("label", { class: "field", ...properties }, el("span", {}, label), input);

export const unseen = (text) => el("span", { class: "unseen" }, text);

/** Set a number that style.css reads; a style attribute would be against the page's own rules. */
export function setSize(node, name, value) {
  node.style.setProperty(name, String(value));
  return node;
}

/** Tell a screen reader what happened. */
export function say(text) {
  const live = document.getElementById("live");
  live.textContent = live.textContent === text ? `${text}\u00a0` : text;
}

const nothing = "\u2013";
export const fixed = (value, digits = 2) => (Number.isFinite(value) ? signed(value.toFixed(digits)) : nothing);
export const percent = (value) => (Number.isFinite(value) ? `${Math.round(100 * value)}\u202f%` : nothing);
export const count = (value) => (Number.isFinite(value) ? value.toLocaleString("en") : nothing);
export const plus = (value, digits = 2) => (value > 0 ? `+${fixed(value, digits)}` : fixed(value, digits));
export const many = (number, one, more = `${one}s`) => `${count(number)} ${number === 1 ? one : more}`;

function signed(text) {
  return /^-0(\.0+)?$/.test(text) ? text.slice(1) : text.replace("-", "\u2212");
}

/** A time of the journal as this place writes it. */
export function moment(iso) {
  const time = new Date(iso);
  if (Number.isNaN(time.getTime())) return el("span", {}, iso ?? "");
  const shown = time.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  return el("time", { datetime: time.toISOString(), title: time.toLocaleString() }, shown);
}

/** The text of a document, whose fields are joined by line ends as the service counts them. */
export function wholeText(text) {
  return text !== null && typeof text === "object" ? Object.values(text).join("\n") : (text ?? "");
}
