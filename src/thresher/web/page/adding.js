// Sends documents out of files to the service, and tells how to; review calls it.

import { post } from "./api.js";
import { el, fill, many, say } from "./dom.js";
import { lots, readFiles } from "./reading.js";
import { session } from "./session.js";

/** Send the documents of these files; `notice` shows how far it is. Returns whether any went. */
export async function addFiles(files, notice) {
  fill(notice, el("p", {}, "Reading\u2026"));
  const found = await readFiles(files);
  if (!found) {
    fill(notice);
    return false;
  }
  const { documents, told } = found;
  const how = el("p", { class: "note" }, told.join(". "), ".");
  if (!documents.length) {
    fill(notice, el("p", { class: "fault" }, "No document was found in it."), how);
    return false;
  }
  const sums = { added: 0, known: 0 };
  await sendLots(documents, notice, sums);
  const result = `Added ${many(sums.added, "document")}, ${sums.known} known already.`;
  fill(notice, el("p", {}, el("strong", {}, result)), how);
  say(result);
  return true;
}

async function sendLots(documents, notice, sums) {
  const bar = el("progress", { max: documents.length, value: 0, "aria-label": "Documents sent" });
  fill(notice, el("p", {}, `Sending ${many(documents.length, "document")} `, bar));
  for (const lot of lots(documents)) {
    try {
      const { added, known } = await post("/v1/documents", { documents: lot });
      sums.added += added;
      sums.known += known;
      bar.value += lot.length;
    } catch (error) {
      throw new Error(`After ${many(bar.value, "document")}: ${error.message} The same file again goes on from there.`);
    }
  }
}

/** What to do where there is nothing to review. */
export function howToAdd() {
  const ways = session.mayCorrect
    ? [
        el("p", {}, "Drop a file here, or choose one with \u201cAdd documents\u201d:"),
        el(
          "dl",
          { class: "ways" },
          way(".txt", "each line is a document; of several files, each file is one"),
          way(".csv .tsv", "a row each, with a column text, body, content or message; id is kept if there is one"),
          way(".jsonl .json", "a document each, its text in the field text"),
        ),
      ]
    : [el("p", {}, "Someone with the role of a teacher can add some.")];
  return el(
    "div",
    { class: "empty" },
    el("h2", {}, "Nothing to review yet"),
    ways,
    el(
      "p",
      { class: "note" },
      "A program adds them with ",
      el("code", {}, "POST /v1/documents"),
      ", and ",
      el("code", {}, "thresher serve FILE"),
      " begins with those of a file.",
    ),
  );
}

const way = (name, text) => el("div", {}, el("dt", {}, el("code", {}, name)), el("dd", {}, text));
