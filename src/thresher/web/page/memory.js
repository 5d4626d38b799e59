// What this browser remembers: the token, the person's name, whether keys are wanted. Without storage it lasts as long as the page.

const PREFIX = "thresher.";
const lastResort = new Map();

export function remembered(name) {
  try {
    return localStorage.getItem(PREFIX + name) ?? lastResort.get(name) ?? null;
  } catch {
    return lastResort.get(name) ?? null;
  }
}

export function remember(name, value) {
  try {
    localStorage.setItem(PREFIX + name, value);
    lastResort.delete(name);
    return true;
  } catch {
    lastResort.set(name, value);
    return false;
  }
}

export function forget(name) {
  lastResort.delete(name);
  try {
    localStorage.removeItem(PREFIX + name);
  } catch {
    // nothing was kept there
  }
}

/** The names under which something is remembered that begin so. */
export function rememberedNames(beginning) {
  const names = new Set(lastResort.keys());
  try {
    for (let i = 0; i < localStorage.length; i++) {
      const found = localStorage.key(i);
      if (found.startsWith(PREFIX)) names.add(found.slice(PREFIX.length));
    }
  } catch {
    // only the page itself remembers
  }
  return [...names].filter((name) => name.startsWith(beginning));
}

/** Tell of a change made by another tab. */
export function onOtherTab(run) {
  window.addEventListener("storage", (event) => {
    if (event.key === null || !event.key.startsWith(PREFIX)) return;
    run(event.key.slice(PREFIX.length));
  });
}
