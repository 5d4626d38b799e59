"use strict";
(() => {
  const table = document.getElementById("table");
  const body = table.tBodies[0];
  const headers = [...table.tHead.rows[0].cells];
  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

  // What is not defined has no value, and stands last in either order.
  const sort = (column, direction) => {
    const text = headers[column].dataset.kind === "text";
    const value = (row) => row.cells[column].dataset.value;
    const compare = (a, b) => (text ? collator.compare(a, b) : a - b);
    const rows = [...body.rows].sort((one, other) => {
      const [a, b] = [value(one), value(other)];
      if (a === "" || b === "") return (a === "") - (b === "");
      return direction === "ascending" ? compare(a, b) : compare(b, a);
    });
    headers.forEach((header) => header.removeAttribute("aria-sort"));
    headers[column].setAttribute("aria-sort", direction);
    body.append(...rows);
  };

  headers.forEach((header, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...header.childNodes);
    header.append(button);
    button.addEventListener("click", () => {
      const first = header.dataset.kind === "text" ? "ascending" : "descending";
      const other = first === "ascending" ? "descending" : "ascending";
      sort(column, header.getAttribute("aria-sort") === first ? other : first);
    });
  });

  const filter = document.getElementById("filter");
  if (filter) {
    filter.closest("p").hidden = false;
    const output = document.getElementById("filtered");
    filter.addEventListener("input", () => {
      const wanted = filter.value.trim().toLowerCase();
      let shown = 0;
      for (const row of body.rows) {
        row.hidden = !row.cells[0].dataset.value.toLowerCase().includes(wanted);
        shown += !row.hidden;
      }
      output.value = wanted ? `${shown} of ${body.rows.length}` : "";
    });
  }

  const unfold = document.getElementById("unfold");
  const details = [...document.querySelectorAll("#words details")];
  if (details.length > 1) {
    unfold.hidden = false;
    unfold.addEventListener("click", () => {
      const open = details.some((one) => !one.open);
      details.forEach((one) => (one.open = open));
      unfold.textContent = open ? "Close all" : "Open all";
    });
  }
})();
