// Asks the service; every view and the outbox call it. What it refuses is a Refusal, no answer at all is Unreachable.

import { forget, remember, remembered } from "./memory.js";

export class Refusal extends Error {
  constructor(status, problem, wait) {
    super(problem.detail || problem.title || `The service answered ${status}.`);
    this.status = status;
    this.nearest = Array.isArray(problem.nearest) ? problem.nearest : [];
    this.wait = wait;
  }

  /** Whether the same may be granted later. */
  get passes() {
    return this.status >= 500 || [401, 408, 425, 429].includes(this.status);
  }
}

export class Unreachable extends Error {
  constructor() {
    super("The service cannot be reached.");
  }
}

export const signing = new EventTarget();

export function takeToken() {
  const found = /^#(?:.*&)?token=([^&]*)/.exec(location.hash);
  if (!found) return false;
  useToken(decoded(found[1]));
  history.replaceState(null, "", location.pathname + location.search);
  return true;
}

export const useToken = (token) => (token ? remember("token", token) : forget("token"));

export function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export const get = (path, query = {}, options = {}) => call("GET", path + written(query), undefined, options);
export const post = (path, body, options = {}) => call("POST", path, body, options);
export const patch = (path, body, options = {}) => call("PATCH", path, body, options);
export const remove = (path, query = {}, options = {}) => call("DELETE", path + written(query), undefined, options);

/** Categorize a text; if it is too long to explain, the answer has no explanations. */
export async function categorize(body, options = {}) {
  try {
    return await post("/v1/categorize", body, options);
  } catch (error) {
    if (error.status !== 422 || !body.explain) throw error;
    return post("/v1/categorize", { ...body, explain: false }, options);
  }
}

export const TOO_LONG = "This text is too long to explain.";

/** A path of names, each of which may hold anything. */
export const at = (...parts) => parts.map((part, i) => (i ? `/${encodeURIComponent(part)}` : part)).join("");

function written(query) {
  const known = Object.entries(query).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return known.length ? `?${new URLSearchParams(known)}` : "";
}

async function call(method, path, body, { signal, seconds = 60 } = {}) {
  const token = remembered("token");
  const late = AbortSignal.timeout(seconds * 1000);
  const answer = await fetch(path, {
    method,
    headers: headers(token, body),
    body: body === undefined ? undefined : JSON.stringify(body),
    signal: signal ? either(signal, late) : late,
    cache: "no-store",
    credentials: "omit",
  }).catch((error) => {
    throw signal?.aborted ? error : new Unreachable();
  });
  if (!answer.ok) throw await refusal(answer, token);
  return answer.status === 204
    ? null
    : answer.json().catch(() => {
        throw signal?.aborted ? signal.reason : new Unreachable();
      });
}

function either(first, second) {
  if (AbortSignal.any) return AbortSignal.any([first, second]);
  const both = new AbortController();
  for (const one of [first, second]) one.addEventListener("abort", () => both.abort(one.reason));
  return both.signal;
}

function headers(token, body) {
  return {
    ...(token ? { Authorization: `Bearer ${token}` } : {}),
    ...(body === undefined ? {} : { "Content-Type": "application/json" }),
  };
}

async function refusal(answer, token) {
  const problem = await answer.json().catch(() => ({}));
  const error = new Refusal(answer.status, problem ?? {}, Number(answer.headers.get("Retry-After")) || 0);
  const isStale = remembered("token") !== token; // another one was given meanwhile
  if (answer.status === 401 && !isStale) signing.dispatchEvent(new Event("needed"));
  return error;
}
