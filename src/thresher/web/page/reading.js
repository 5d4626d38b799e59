// Documents out of files: lines, delimited rows or JSON lines; review sends them to the service.

import { choose } from "./ask.js";
import { el, many, named } from "./dom.js";
import { fileText } from "./dropping.js";

const TEXT_NAMES = ["text", "body", "content", "message"];
const ID_NAMES = ["id", "key"];

/** Return {documents, told} of files: `told` says how each was read. Null if the person gave up. */
export async function readFiles(files) {
  const documents = [];
  const told = [];
  const apart = files.filter((file) => kindOf(file) === "lines").length > 1;
  for (const file of files) {
    const found = await readFile(file, apart);
    if (!found) return null;
    const full = found.documents.filter((document) => document.text.trim());
    documents.push(...full);
    told.push(`${file.name}: ${found.how}${emptyOnes(found.documents.length - full.length)}`);
  }
  return { documents, told };
}

const emptyOnes = (number) => (number ? ` (${number} empty, left out)` : "");

function kindOf(file) {
  const ending = /\.([^.]+)$/.exec(file.name.toLowerCase())?.[1];
  if (ending === "csv" || ending === "tsv" || ending === "tab") return "rows";
  return ["jsonl", "ndjson", "json"].includes(ending) ? "json" : "lines";
}

async function readFile(file, apart) {
  const text = await fileText(file);
  const kind = kindOf(file);
  if (kind === "rows") return readRows(file.name, text);
  if (kind === "json") return readJson(text);
  return apart ? { documents: [{ text }], how: "one document" } : readLines(file.name, text);
}

async function readLines(name, text) {
  const lines = text.split(/\r\n|\r|\n/).filter((line) => line.trim());
  const blocks = text.split(/(?:\r\n|\r|\n)[^\S\r\n]*(?:\r\n|\r|\n)+/).filter((block) => block.trim());
  const ways = new Map([
    [
      "lines",
      {
        documents: lines.map((line) => ({ text: line.trim() })),
        how: `${many(lines.length, "line")}, each a document`,
      },
    ],
    [
      "blocks",
      {
        documents: blocks.map((block) => ({ text: block.trim() })),
        how: `${many(blocks.length, "document")} parted by empty lines`,
      },
    ],
    ["whole", { documents: [{ text }], how: "one document" }],
  ]);
  if (blocks.length < 2 || blocks.length === lines.length) return ways.get("lines");
  const way = await choose(
    ["How is ", named(name), " to be read?"],
    [
      ["lines", `each line a document (${lines.length})`],
      ["blocks", `documents parted by empty lines (${blocks.length})`],
      ["whole", "all of it one document"],
    ],
    "Read it",
  );
  return way && ways.get(way);
}

async function readRows(name, text) {
  const rows = parseRows(text, delimiterOf(name, text));
  if (!rows.length) return { documents: [], how: "no rows" };
  const heads = rows[0].map((head) => head.trim().toLowerCase());
  let column = heads.findIndex((head) => TEXT_NAMES.includes(head));
  let first = 1;
  if (column < 0) {
    const answer = await askColumn(name, rows);
    if (!answer) return null;
    [column, first] = [answer.column, answer.first];
  }
  const idColumn = first ? heads.findIndex((head) => ID_NAMES.includes(head)) : -1;
  const documents = rows
    .slice(first)
    .map((row) => ({ ...(row[idColumn] ? { id: row[idColumn] } : {}), text: row[column] ?? "" }));
  const shown = first ? `column \u201c${rows[0][column]}\u201d` : `column ${column + 1}`;
  return { documents, how: `${many(documents.length, "row")}, ${shown}` };
}

async function askColumn(name, rows) {
  const isData = el("input", { type: "checkbox" });
  const choices = rows[0].map((head, i) => [
    i,
    [el("b", {}, named(head || `column ${i + 1}`)), " ", el("small", {}, named((rows[1]?.[i] ?? "").slice(0, 80)))],
  ]);
  const more = el("label", { class: "choice" }, isData, el("span", {}, "The first row is a document too"));
  const column = await choose(["Which column of ", named(name), " holds the text?"], choices, "Read it", more);
  return column === null ? null : { column, first: isData.checked ? 0 : 1 };
}

function delimiterOf(name, text) {
  if (/\.(tsv|tab)$/i.test(name)) return "\t";
  const head = text.slice(0, (text.search(/[\r\n]/) + 1 || text.length + 1) - 1);
  return [",", ";", "\t"].reduce((best, mark) => (head.split(mark).length > head.split(best).length ? mark : best));
}

/** Rows of fields, which quotes may hold together over delimiters and line ends, as RFC 4180 has it. */
export function parseRows(text, delimiter) {
  const rows = [];
  let row = [];
  let place = 0;
  const endRow = () => {
    if (row.length > 1 || row[0] !== "") rows.push(row);
    row = [];
  };
  while (place < text.length) {
    const [value, next] = text[place] === '"' ? quoted(text, place, delimiter) : bare(text, place, delimiter);
    row.push(value);
    place = next;
    if (text[place] === delimiter) {
      place++;
      if (place === text.length) row.push("");
      else continue;
    }
    if (text[place] === "\r" && text[place + 1] === "\n") place++;
    place++;
    endRow();
  }
  return rows;
}

function bare(text, start, delimiter) {
  let end = start;
  while (end < text.length && text[end] !== delimiter && text[end] !== "\n" && text[end] !== "\r") end++;
  return [text.slice(start, end), end];
}

function quoted(text, start, delimiter) {
  let value = "";
  let place = start + 1;
  for (;;) {
    const end = text.indexOf('"', place);
    if (end < 0) return [value + text.slice(place), text.length];
    value += text.slice(place, end);
    place = end + 1;
    if (text[place] !== '"') break;
    value += '"';
    place++;
  }
  const [rest, next] = bare(text, place, delimiter);
  return [value + rest, next];
}

function readJson(text) {
  const lines = text.split(/\r\n|\r|\n/).filter((line) => line.trim());
  const whole = parsed(text);
  const values = Array.isArray(whole) ? whole : Array.isArray(whole?.documents) ? whole.documents : lines.map(parsed);
  const documents = values.map(documentOf).filter(Boolean);
  const bad = values.length - documents.length;
  return {
    documents,
    how: many(documents.length, "document") + (bad ? `; ${many(bad, "line")} could not be read` : ""),
  };
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function documentOf(value) {
  if (typeof value === "string") return { text: value };
  const name = TEXT_NAMES.find((one) => typeof value?.[one] === "string");
  if (!name) return null;
  return { ...(value.id === undefined || value.id === null ? {} : { id: String(value.id) }), text: value[name] };
}

/** Documents in lots whose JSON stays below so many bytes each. */
export function lots(documents, bytes = 880_000, most = 1000) {
  const found = [];
  const encoder = new TextEncoder();
  let size = Infinity;
  for (const document of documents) {
    const own = encoder.encode(JSON.stringify(document)).length + 2;
    if (size + own > bytes || found.at(-1).length >= most) {
      found.push([]);
      size = 20;
    }
    found.at(-1).push(document);
    size += own;
  }
  return found;
}
