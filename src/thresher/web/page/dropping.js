// Files dropped anywhere on a view, or picked with a button; categorize and review take them.

import { el } from "./dom.js";

/** Take files dropped while the view is open; returns how to stop. */
export function takeDrops(node, took) {
  let depth = 0;
  const hasFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  const cue = (shown) => node.classList.toggle("dropping", shown);
  const listeners = new Map([
    ["dragenter", (event) => hasFiles(event) && cue(++depth > 0)],
    ["dragleave", (event) => hasFiles(event) && cue(--depth > 0)],
    ["dragover", (event) => hasFiles(event) && event.preventDefault()],
    [
      "drop",
      (event) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        cue((depth = 0));
        if (event.dataTransfer.files.length) took([...event.dataTransfer.files]);
      },
    ],
  ]);
  for (const [name, run] of listeners) document.addEventListener(name, run);
  return () => listeners.forEach((run, name) => document.removeEventListener(name, run));
}

/** A button that asks for files. */
export function filePicker(id, label, took, properties = {}) {
  const input = el("input", {
    type: "file",
    id,
    class: "unseen",
    ...properties,
    on: {
      change: () => {
        const files = [...input.files];
        input.value = "";
        if (files.length) took(files);
      },
    },
  });
  return el("label", { class: "button filepick" }, input, label);
}

/** The text of a file: UTF-8, or what its first bytes say, or Windows' western letters. Throws if it is none. */
export async function fileText(file) {
  const text = decodedText(new Uint8Array(await file.arrayBuffer()));
  if (text.includes("\0")) throw new Error(`${file.name} is not a text file.`);
  return text.replace(/^\ufeff/, "");
}

function decodedText(bytes) {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder("utf-16le").decode(bytes);
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder("utf-16be").decode(bytes);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder("windows-1252").decode(bytes);
  }
}
