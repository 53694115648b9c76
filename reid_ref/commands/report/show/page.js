"use strict";
// Everything on the page can be read without this script: it adds tabs, sorting and a filter.
(function () {
  const all = (selector, root) => Array.from((root || document).querySelectorAll(selector));
  document.documentElement.classList.add("script");

  // Tabs choose the queries that are shown.
  const tabs = all("[role=tab]");
  function choose(tab) {
    for (const other of tabs) {
      other.setAttribute("aria-selected", String(other === tab));
      other.tabIndex = other === tab ? 0 : -1;
    }
    const why = tab.dataset.why;
    for (const query of all("section.query")) {
      query.hidden = why !== "all" && !query.dataset.why.split(",").includes(why);
    }
  }
  tabs.forEach((tab, k) => {
    tab.addEventListener("click", () => choose(tab));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step) {
        const next = tabs[(k + step + tabs.length) % tabs.length];
        next.focus();
        choose(next);
        event.preventDefault();
      }
    });
  });

  // A link to a list that the tab hides shows all lists first.
  function reveal() {
    const target = document.getElementById(location.hash.slice(1));
    if (target && target.hidden) {
      choose(tabs[0]);
    }
    if (target) {
      target.scrollIntoView();
    }
  }
  window.addEventListener("hashchange", reveal);
  all("a[href^='#q']").forEach((link) => link.addEventListener("click", () => {
    const target = document.getElementById(link.hash.slice(1));
    if (target && target.hidden) {
      choose(tabs[0]);
    }
  }));

  // Tables whose heads are buttons sort by a column; what is no number comes last.
  function value(row, column) {
    const text = row.cells[column].textContent.trim();
    const number = Number(text.replace(/,/g, ""));
    return text !== "" && !Number.isNaN(number) ? number : text;
  }
  function compare(one, other) {
    const numbers = [typeof one, typeof other].map((type) => type === "number");
    if (numbers[0] && numbers[1]) {
      return one - other;
    }
    return numbers[0] ? -1 : numbers[1] ? 1 : one < other ? -1 : one > other ? 1 : 0;
  }
  all("table.sortable").forEach((table) => all("th", table).forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      all("th", table).forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = Array.from(table.tBodies[0].rows).map((row) => [value(row, column), row]);
      rows.sort((one, other) => {
        const bothNumbers = typeof one[0] === "number" && typeof other[0] === "number";
        const order = compare(one[0], other[0]);
        return down && bothNumbers ? -order : order;
      });
      table.tBodies[0].append(...rows.map((pair) => pair[1]));
    });
  }));

  // The filter keeps rows in which every word is a cell, or part of a status.
  const filter = document.getElementById("filter");
  if (filter) {
    const count = document.getElementById("filter-count");
    filter.closest("p").hidden = false;
    filter.addEventListener("input", () => {
      const words = filter.value.trim().toLowerCase();
      let shown = 0;
      for (const row of all("#queries tbody tr")) {
        const fits = words === "" || Array.from(row.cells).some((cell) => {
          const text = cell.textContent.trim().toLowerCase();
          return text === words || (Number.isNaN(Number(words)) && text.includes(words));
        });
        row.hidden = !fits;
        shown += fits ? 1 : 0;
      }
      count.textContent = shown.toLocaleString("en") + " rows";
    });
  }
  reveal();
})();
