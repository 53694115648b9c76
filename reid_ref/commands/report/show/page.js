"use strict";
// All but the table of queries can be read without this script: it adds filters and sorting.
(function () {
  const all = (selector, root) => Array.from((root || document).querySelectorAll(selector));
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("data").textContent);
  document.documentElement.classList.add("script");

  // Whether a query is searched for: by number, identity or status, or by a part of its name.
  const fits = (words, exact, texts) => words === "" || exact.includes(words)
    || (Number.isNaN(Number(words)) && texts.some((text) => text.toLowerCase().includes(words)));
  const wordsOf = (field) => field.value.trim().toLowerCase();

  // Rank lists: a tab chooses the reason; five are shown at first, and ten are printed.
  const SHOWN = 5, PRINTED = 10;
  const tabs = all("[role=tab]"), lists = all("section.query");
  const more = byId("more"), find = byId("find");
  let expanded = false;
  function update() {
    const why = tabs.find((tab) => tab.getAttribute("aria-selected") === "true").dataset.why;
    const words = wordsOf(find);
    const chosen = lists.filter((list) => (words
      ? fits(words, [list.id, list.id.slice(1), list.dataset.identity], [list.dataset.name])
      : why === "all" || why.split(",").some((one) => list.dataset.why.split(",").includes(one))));
    lists.forEach((list) => {
      const place = chosen.indexOf(list);
      list.hidden = place < 0;
      list.classList.toggle("later", place >= SHOWN && !expanded);
      list.classList.toggle("screen", place >= PRINTED);
    });
    more.hidden = expanded || chosen.length <= SHOWN;
    more.textContent = `show ${chosen.length - SHOWN} more`;
    byId("find-count").textContent = !words ? "" : chosen.length
      ? `${chosen.length} of ${lists.length} lists`
      : "no list of it here; the table of all queries has its numbers";
  }
  function choose(tab) {
    for (const other of tabs) {
      other.setAttribute("aria-selected", String(other === tab));
      other.tabIndex = other === tab ? 0 : -1;
    }
    find.value = "";
    expanded = false;
    update();
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
  if (tabs.length) {
    choose(tabs.find((tab) => tab.dataset.why === "gain,loss") || tabs[tabs.length - 1]);
    find.addEventListener("input", update);
    more.addEventListener("click", () => {
      expanded = true;
      update();
    });
  }

  // The table of all queries is made when it is opened.
  const details = byId("table").querySelector("details"), filter = byId("filter");
  // Python rounds 12.125 to 12.12, toFixed to 12.13.
  const percent = (share) => (share === null ? "-"
    : (100 * share - ((100 * share) % 0.5 === 0.125 ? 1e-6 : 0)).toFixed(2));
  const results = data.results || { "": data };
  function table() {
    const first = Object.values(results)[0].per_query.queries[0];
    const camera = first && first.camera !== null ? ["camera"] : [];
    const heads = ["query", "identity", ...camera, "good", "ignored"];
    const start = (name) => (name ? `${name}: ` : "");
    Object.keys(results).forEach((name) => heads.push(
      ...["first match", "AP", "INP", "status"].map((head) => start(name) + head)));
    const made = document.createElement("table");
    const row = made.createTHead().insertRow();
    heads.concat(data.query_names.length ? ["name"] : []).forEach((text, column) => {
      const head = document.createElement("th"), button = document.createElement("button");
      head.scope = "col";
      button.type = "button";
      button.textContent = text;
      button.addEventListener("click", () => sort(made, column));
      head.append(button);
      row.append(head);
    });
    const body = made.createTBody(), each = Object.values(results);
    each[0].per_query.queries.forEach((first, k) => {
      const cells = [first.query, first.identity, ...camera.map(() => first.camera),
        first.n_good, first.n_junk];
      each.map((result) => result.per_query.queries[k]).forEach((one) => cells.push(
        one.first_match || "-", percent(one.ap), percent(one.inp), one.status));
      const line = body.insertRow();
      cells.concat(data.query_names.length ? [data.query_names[k]] : []).forEach((text) => {
        line.insertCell().textContent = text;
      });
      if (byId(`q${first.query}`)) {
        const link = document.createElement("a");
        link.href = `#q${first.query}`;
        link.append(...line.cells[0].childNodes);
        line.cells[0].append(link);
      }
    });
    return made;
  }
  // What is no number comes last.
  function sort(made, column) {
    const head = made.tHead.rows[0].cells[column];
    const down = head.getAttribute("aria-sort") === "ascending";
    Array.from(made.tHead.rows[0].cells).forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const rows = Array.from(made.tBodies[0].rows).map((row) => {
      const text = row.cells[column].textContent;
      const number = text === "" || Number.isNaN(Number(text)) ? NaN : Number(text);
      return { text, number, query: Number(row.cells[0].textContent), row };
    });
    rows.sort((one, other) => {
      const words = Number.isNaN(one.number) - Number.isNaN(other.number);
      const order = Number.isNaN(one.number) ? one.text.localeCompare(other.text)
        : one.number - other.number;
      return words || (down ? -order : order) || one.query - other.query;
    });
    made.tBodies[0].append(...rows.map((each) => each.row));
  }
  function filterTable() {
    const words = wordsOf(filter);
    let shown = 0;
    for (const row of all("#queries tbody tr")) {
      const texts = Array.from(row.cells).map((cell) => cell.textContent);
      row.hidden = !fits(words, [`q${texts[0]}`, texts[0], texts[1]], texts);
      shown += row.hidden ? 0 : 1;
    }
    byId("filter-count").textContent = `${shown.toLocaleString("en")} row${shown === 1 ? "" : "s"}`;
  }
  function openTable() {
    if (!byId("queries").firstChild) {
      byId("queries").append(table());
    }
    details.open = true;
  }
  details.addEventListener("toggle", () => details.open && openTable());
  filter.addEventListener("input", filterTable);

  // A link to a query leads to its rank list, whatever the filter, or else to its numbers.
  function reveal() {
    const target = byId(location.hash.slice(1)), query = /^#q\d+$/.test(location.hash);
    if (target && query) {
      if (target.hidden) {
        choose(tabs[tabs.length - 1]);
      }
      expanded = expanded || target.classList.contains("later");
      update();
    } else if (query) {
      openTable();
      filter.value = location.hash.slice(1);
      filterTable();
    }
    if (target || query) {
      (target || byId("table")).scrollIntoView();
    }
  }
  window.addEventListener("hashchange", reveal);
  document.addEventListener("click", (event) => {  // a second click on the same link, too
    const link = event.target.closest("a[href^='#q']");
    if (link && link.hash === location.hash) {
      reveal();
    }
  });

  // A click enlarges a picture; another one, or Escape, closes it.
  const enlarged = byId("enlarged");
  all("button.picture").forEach((button) => button.addEventListener("click", () => {
    const picture = button.firstElementChild.cloneNode(true), name = document.createElement("p");
    name.textContent = picture.getAttribute("aria-label");
    enlarged.replaceChildren(picture, name);
    enlarged.showModal();
  }));
  enlarged.addEventListener("click", () => enlarged.close());
  reveal();
})();
