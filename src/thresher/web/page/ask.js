// Questions in a dialog: yes or no, a few fields, a category's name, one of several; the views ask them.

import { button, el, field, fill, named } from "./dom.js";

/**
 * Ask in a dialog and return the answer, or null. `content` are nodes, `action` the word on the button, and `answered`
 * returns the answer, or undefined to stay.
 */
export function ask({ title, content = [], action, danger = false, answered = () => true }) {
  const go = el("button", { type: "submit", class: danger ? "danger" : "primary" }, action);
  const heading = el("h2", { id: "asked" }, title);
  const form = el("form", { novalidate: true }, heading, content);
  const dialog = el("dialog", { "aria-labelledby": "asked", class: "ask" }, form);
  return new Promise((resolve) => {
    let answer = null;
    form.append(
      el(
        "div",
        { class: "row end" },
        button("Cancel", () => dialog.close()),
        go,
      ),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const given = answered(go);
      if (given === undefined) return;
      answer = given;
      dialog.close();
    });
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(answer);
    });
    document.body.append(dialog);
    dialog.showModal();
    form.querySelector("input, select")?.focus();
  });
}

export const confirm = (title, text, action) => ask({ title, content: [el("p", {}, text)], action, danger: true });

/** Show something that is only to be read. */
export function show(title, ...content) {
  const dialog = el("dialog", { "aria-labelledby": "shown", class: "ask" });
  dialog.append(
    el(
      "div",
      { class: "row between" },
      el("h2", { id: "shown" }, title),
      button("Close", () => dialog.close(), { class: "quiet" }),
    ),
    ...content,
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** A field that proposes names. */
export function nameField(id, names, properties = {}) {
  const proposals = el(
    "datalist",
    { id: `${id}-names` },
    names.map((name) => el("option", { value: name })),
  );
  const input = el("input", {
    id,
    name: "name",
    list: proposals.id,
    autocomplete: "off",
    spellcheck: "false",
    ...properties,
  });
  return { input, proposals };
}

/** Ask for a category; a name that is not known must be confirmed. Returns {name, isNew}. */
export function askCategory(names) {
  const { input, proposals } = nameField("category-name", names);
  const note = el("p", { class: "note", id: "category-note", role: "status" });
  let confirmed = null;
  return ask({
    title: "Another category",
    content: [field("Category", input), proposals, note],
    action: "Accept",
    answered(go) {
      const name = input.value.trim();
      if (!name) return input.focus();
      const known = names.includes(name) ? name : names.find((other) => other.toLowerCase() === name.toLowerCase());
      if (known !== undefined) return { name: known, isNew: false };
      if (confirmed === name) return { name, isNew: true };
      confirmed = name;
      fill(note, "There is no category ", named(name), " yet. Create it, with this document as its first?");
      fill(go, "Create it");
      return undefined;
    },
  });
}

/** Ask for one of several, each [value, label nodes]. */
export function choose(title, choices, action, more = []) {
  const radios = choices.map(([, label], i) =>
    el(
      "label",
      { class: "choice" },
      el("input", { type: "radio", name: "choice", value: i, checked: i === 0 }),
      el("span", {}, label),
    ),
  );
  return ask({
    title,
    content: [el("fieldset", { "aria-labelledby": "asked" }, radios), more],
    action,
    answered: () => choices[radios.findIndex((label) => label.querySelector("input").checked)][0],
  });
}
