// Begins the page: the token, the header, which view the address names, the keys that every view has.

import { decoded, signing, takeToken, useToken } from "./api.js";
import { button, el, field, fill, many, named } from "./dom.js";
import { showHelp } from "./help.js";
import { listen, useKeys } from "./keys.js";
import { isAtRisk, openOutbox, outbox, sendNow, unsent } from "./outbox.js";
import { session } from "./session.js";
import { showUnsent } from "./unsent.js";
import * as categories from "./categories.js";
import * as categorize from "./categorize.js";
import * as category from "./category.js";
import * as history from "./history.js";
import * as review from "./review.js";

const VIEWS = new Map(Object.entries({ categorize, review, categories, category, history }));
const part = (id) => document.getElementById(id);
const main = part("main");
let view = null;

function close() {
  view?.leave?.();
  view = null;
  useKeys([]);
  fill(main);
}

/** Open the view that the address names. */
function route() {
  if ((wasTried = takeToken())) return begin();
  if (!session.model) return undefined;
  const [name, ...rest] = location.hash.slice(1).split("/");
  const known = VIEWS.has(name) ? name : "categorize";
  close();
  main.className = known;
  view = VIEWS.get(known).open(main, decoded(rest.join("/")));
  useKeys(view.keys ?? []);
  document.title = `${view.title} \u2013 Thresher`;
  mark(known === "category" ? "categories" : known);
  window.scrollTo(0, 0);
  return undefined;
}

function mark(name) {
  for (const link of part("views").children) {
    if (link.dataset.view === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

let trying = 0;

async function begin() {
  clearTimeout(trying);
  try {
    await session.begin();
  } catch (error) {
    return error.status === 401 ? undefined : unavailable(error);
  }
  wasTried = false;
  part("views").hidden = part("session").hidden = false;
  showUser();
  route();
  return openOnce();
}

let opened = false;
function openOnce() {
  if (opened) return sendNow();
  opened = true;
  return openOutbox();
}

function unavailable(error) {
  close();
  fill(
    main,
    el(
      "div",
      { class: "empty" },
      el("h1", {}, "Not available"),
      el("p", { class: "fault", role: "alert" }, error.message),
      button("Try again", begin),
    ),
  );
  clearTimeout(trying);
  trying = setTimeout(begin, 3000);
}

let wasTried = false;

/** Ask for the token; the page goes on when one was given. */
function signIn() {
  if (part("token")) return;
  close();
  session.model = null;
  main.className = "signin";
  part("views").hidden = part("session").hidden = true;
  document.title = "Sign in \u2013 Thresher";
  const token = el("input", {
    id: "token",
    type: "password",
    autocomplete: "off",
    spellcheck: "false",
    required: true,
  });
  const note = el("p", { class: "note", role: "status" }, wasTried ? "This token was not accepted. " : "");
  const enter = async (event) => {
    event.preventDefault();
    useToken(token.value.trim());
    token.id = "";
    wasTried = true;
    await begin();
  };
  fill(
    main,
    el(
      "form",
      { class: "empty", on: { submit: enter } },
      el("h1", {}, "Sign in"),
      el(
        "p",
        {},
        "The token is in the address that ",
        el("code", {}, "thresher serve"),
        " printed, or it was given to you.",
      ),
      field("Token", token),
      el("div", { class: "row" }, el("button", { type: "submit", class: "primary" }, "Sign in")),
      note,
    ),
  );
  if (unsent().length)
    note.append(`${many(unsent().length, "correction")} not sent yet: kept in this browser until then.`);
  token.focus();
}

function showUser() {
  const place = part("user");
  const role = session.model.role;
  place.title = `${role}; model ${session.model.model ?? ""}`;
  if (!session.isShared) return fill(place, named(session.user), el("small", {}, ` ${role}`));
  if (!session.mayCorrect) return fill(place, el("small", {}, role));
  const input = el("input", {
    id: "user-name",
    "aria-label": "Your name",
    placeholder: "Your name",
    autocomplete: "name",
    maxlength: 100,
    size: 11,
    on: { change: () => (session.user = input.value) },
  });
  input.value = session.user;
  return fill(place, input);
}

function showCount() {
  const entries = unsent();
  const refused = entries.filter((entry) => entry.refused).length;
  const words = [
    entries.length > refused ? `${entries.length - refused} unsent` : "",
    refused ? `${refused} refused` : "",
  ];
  part("unsent").hidden = !entries.length;
  part("unsent").textContent = words.filter(Boolean).join(", ") + (isAtRisk() ? " (keep this page open)" : "");
}

part("help").addEventListener("click", showHelp);
part("unsent").addEventListener("click", showUnsent);
part("skip").addEventListener("click", () => main.focus());
part("views").addEventListener("click", () => main.focus({ preventScroll: true })); // a link would keep Enter for itself
outbox.addEventListener("change", showCount);
signing.addEventListener("needed", signIn);
window.addEventListener("hashchange", route);
window.addEventListener("beforeunload", (event) => isAtRisk() && event.preventDefault());
listen([{ keys: ["h"], does: "show the keys", run: showHelp }]);
showCount();
wasTried = takeToken();
begin();
