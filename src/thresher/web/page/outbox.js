// Corrections that the service has not confirmed yet. Each is in the browser's memory, under a key of its own so that two
// tabs never overwrite each other's, before it is sent, and leaves it when it was answered. The views submit, the header shows.

import { at, post, remove } from "./api.js";
import { forget, onOtherTab, remember, remembered, rememberedNames } from "./memory.js";
import { session } from "./session.js";

const PREFIX = "unsent.";
const [SHORTEST, LONGEST] = [1, 60];

export const outbox = new EventTarget();
const waiting = new Map(); // id of an entry of this tab: the entry, and who wants to hear of it
let pause = SHORTEST;
let timer = 0;
let sending = null;
let again = false;
let isFull = false;

/** Keep a correction, send it, and return what became of it: {answer}, {refused} or, kept for later, {kept}. */
export function submit(body) {
  return enter({ id: body.id, body });
}

/** Take a correction back, in its turn: one that is not sent yet goes out before. */
export function undo(id) {
  return enter({ id: newId(), undoes: id, user: session.isShared ? session.user : "" });
}

/** What is not confirmed, in the order of its making. */
export function unsent() {
  const found = rememberedNames(PREFIX)
    .map((name) => read(name))
    .filter(Boolean);
  return found.sort((a, b) => a.made - b.made || (a.id < b.id ? -1 : 1));
}

/** Give up a correction. */
export function drop(id) {
  forget(PREFIX + id);
  settle(id, { refused: new Error("Dropped.") });
  changed();
}

/** Send what was refused once more, with all that waits. */
export function retry(id) {
  const entry = read(PREFIX + id);
  if (entry) keep({ ...entry, refused: undefined });
  return sendNow();
}

export function sendNow() {
  pause = SHORTEST;
  return send();
}

export function newId() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Begin: send what an earlier page left, and listen. */
export function openOutbox() {
  window.addEventListener("online", sendNow);
  onOtherTab((name) => name.startsWith(PREFIX) && changed());
  return sendNow();
}

function enter(entry) {
  const made = Math.max(Date.now(), ...unsent().map((other) => other.made + 1));
  const whole = { ...entry, made, by: session.model?.user ?? "" };
  const heard = new Promise((tell) => waiting.set(entry.id, { entry: whole, tell }));
  keep(whole);
  changed();
  sendNow();
  return heard;
}

function keep(entry) {
  isFull = !remember(PREFIX + entry.id, JSON.stringify(entry));
}

/** Whether something is only in this page, because the browser has no room for it. */
export const isAtRisk = () => isFull && unsent().length > 0;

function read(name) {
  try {
    return JSON.parse(remembered(name));
  } catch {
    return null;
  }
}

function changed() {
  outbox.dispatchEvent(new Event("change"));
}

function settle(id, outcome) {
  waiting.get(id)?.tell(outcome);
  waiting.delete(id);
}

function send() {
  clearTimeout(timer);
  if (sending) {
    again = true;
    return sending;
  }
  sending = alone(sendAll).finally(() => {
    sending = null;
    if (again) {
      again = false;
      send();
    }
  });
  return sending;
}

/** One tab sends at a time, where browsers can tell; where not, the service knows a repeated id. */
function alone(run) {
  return navigator.locks ? navigator.locks.request("thresher.unsent", run) : run();
}

/** Whether who is signed in made it: nobody's correction goes out under another's name. */
export const isOurs = (entry) => Boolean(session.model) && (entry.by ?? "") === session.model.user;

/** What to send: what is kept, and what this tab waits for though another has sent it meanwhile (its answer is wanted). */
function due() {
  const entries = new Map([...waiting].map(([id, { entry }]) => [id, entry]));
  for (const entry of unsent()) entries.set(entry.id, entry);
  return [...entries.values()].filter((entry) => !entry.refused && isOurs(entry)).sort((a, b) => a.made - b.made);
}

async function sendAll() {
  for (let entry = due()[0]; entry; entry = due()[0]) {
    const error = await deliver(entry);
    if (error) return later(error);
    pause = SHORTEST;
  }
}

/** Send one; return what is in the way if it must wait. */
async function deliver(entry) {
  try {
    const answer = await (entry.undoes
      ? remove(at("/v1/corrections", entry.undoes), { user: entry.user })
      : post("/v1/corrections", entry.body));
    finish(entry, { answer: answer ?? {} });
  } catch (error) {
    if (error.status === undefined || error.passes) return error;
    if (entry.undoes && error.status === 404) finish(entry, { answer: {} });
    else refuse(entry, error);
  }
  return null;
}

function finish(entry, outcome) {
  forget(PREFIX + entry.id);
  settle(entry.id, outcome);
  changed();
  outbox.dispatchEvent(new CustomEvent("sent", { detail: entry }));
}

function refuse(entry, error) {
  keep({ ...entry, refused: { status: error.status, reason: error.message } });
  settle(entry.id, { refused: error });
  changed();
}

function later(error) {
  for (const id of [...waiting.keys()]) settle(id, { kept: error });
  changed();
  const seconds = Math.max(pause, error.wait ?? 0) * (0.8 + 0.4 * Math.random());
  pause = Math.min(LONGEST, 2 * pause);
  timer = setTimeout(send, 1000 * seconds);
}
