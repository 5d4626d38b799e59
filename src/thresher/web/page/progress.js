// How far the review is, and how often the model was wrong; review shows it.

import { el, fill, percent, setSize } from "./dom.js";

/** Show it in a node; `tally` counts what was saved since the page was opened, and what of it had a mistake. */
export function showProgress(node, { done, total, unsure }, { saved, wrong }) {
  const error = saved ? ` \u00b7 of ${saved} saved here ${wrong} had a mistake (${percent(wrong / saved)})` : "";
  const bar = el(
    "span",
    {
      class: "track",
      role: "progressbar",
      "aria-label": "Reviewed",
      "aria-valuemin": 0,
      "aria-valuemax": total,
      "aria-valuenow": done,
    },
    el("i"),
  );
  setSize(bar, "--w", total ? done / total : 0);
  fill(node, bar, el("span", {}, `${done} of ${total} done`, unsure ? `, ${unsure} unsure` : "", error));
  node.hidden = !total;
}
