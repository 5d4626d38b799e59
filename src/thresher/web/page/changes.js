// Changes to the categories, each asked for in a dialog; the list of categories and a category's page offer them.

import { post } from "./api.js";
import { ask, confirm, nameField } from "./ask.js";
import { el, field, listed, named } from "./dom.js";
import { newId } from "./outbox.js";
import { session } from "./session.js";

/** Make a change; returns it if it was made, null if the person gave up. Throws what the service refuses. */
async function make(change) {
  if (!change) return null;
  const user = session.isShared && session.user ? { user: session.user } : {};
  await post("/v1/categories", { ...change, ...user, id: newId() });
  await session.look().catch(() => {});
  return change;
}

export async function newCategory() {
  const name = el("input", { id: "new-name", autocomplete: "off" });
  const words = el("input", { id: "new-words", autocomplete: "off" });
  return make(
    await ask({
      title: "New category",
      content: [field("Name", name), field("Words that speak for it, with commas between (may be empty)", words)],
      action: "Create",
      answered: () =>
        name.value.trim() ? { change: "new", name: name.value.trim(), words: seeds(words.value) } : name.focus(),
    }),
  );
}

const seeds = (text) =>
  text
    .split(/[,;\n]/)
    .map((word) => word.trim())
    .filter(Boolean);

export async function renameCategory(name) {
  const input = el("input", { id: "rename-into", autocomplete: "off" });
  input.value = name;
  return make(
    await ask({
      title: ["Rename ", named(name)],
      content: [field("New name", input)],
      action: "Rename",
      answered() {
        const into = input.value.trim();
        return into && into !== name ? { change: "rename", name, into } : input.focus();
      },
    }),
  );
}

export async function mergeCategories(names) {
  const { input, proposals } = nameField("merge-into", names);
  input.value = names[0];
  return make(
    await ask({
      title: "Merge categories",
      content: [el("p", {}, ...listed(names), " become one."), field("Name of the merged one", input), proposals],
      action: "Merge",
      danger: true,
      answered: () => (input.value.trim() ? { change: "merge", names, into: input.value.trim() } : input.focus()),
    }),
  );
}

export async function retireCategory(name) {
  const sure = await confirm(
    ["Retire ", named(name), "?"],
    "The model forgets it: it is no longer predicted, and what was learned of it is gone. The history can take that back.",
    "Retire",
  );
  return make(sure && { change: "retire", name });
}

export const setThreshold = (name, threshold) => make({ change: "threshold", name, threshold });
