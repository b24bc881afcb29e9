"use strict";
// The table of all cases: sorted by a heading, filtered, in views of columns, saved as CSV.

const FIRST = 100; // rows shown at first
const MORE = 2000;
const cases = document.getElementById("cases");
const rows = [...cases.tBodies[0].rows]; // by line of results.csv
const heads = [...cases.querySelectorAll("thead th")];
let most = FIRST;

function compare(first, second) {
  const [a, b] = [first, second].map((row) => valueOf(row, state.sort.replace("-", "")));
  const unknown = (value) => value === null || value === undefined || value === "";
  if (unknown(a) || unknown(b)) return unknown(a) - unknown(b) || first - second; // unknown values last, in both directions
  const order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
  return (state.sort[0] === "-" ? -order : order) || first - second;
}

/** Lines of results.csv, filtered and sorted as the table. */
function chosenRows() {
  const words = state.search.toLowerCase().split(/\s+/).filter(Boolean);
  const text = (row) => [data.variants[row], ...Object.values(whereOf(row)), data.searched[row]].join("\n").toLowerCase();
  const chosen = data.variants.map((_, row) => row).filter(shownRow)
    .filter((row) => words.every((word) => text(row).includes(word)));
  return state.sort ? chosen.sort(compare) : chosen;
}

function showTable() {
  const order = chosenRows();
  cases.tBodies[0].replaceChildren(...order.slice(0, most).map((row) => rows[row]));
  cases.className = `view-${state.view} ready`;
  for (const head of heads) {
    head.ariaSort = { [head.dataset.column]: "ascending", ["-" + head.dataset.column]: "descending" }[state.sort] ?? null;
  }
  for (const button of document.querySelectorAll("[data-view]")) {
    button.ariaPressed = String(button.dataset.view === state.view);
  }
  const all = document.getElementById("all");
  all.hidden = order.length <= most;
  all.textContent = order.length <= most + MORE ? `Show all ${order.length}` : `Show ${MORE} more`;
  document.getElementById("counted").textContent = `${order.length} of ${data.variants.length} cases`;
  document.getElementById("search").value = state.search;
}

function csvText(order) {
  const quoted = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const lines = order.map((row) => data.all_columns.map((column) => quoted(valueOf(row, column))).join(","));
  return [data.all_columns.join(","), ...lines].join("\n") + "\n";
}

/** Changes a part of the state and shows the table. */
function change(part) {
  Object.assign(state, part);
  address();
  showTable();
}

for (const head of heads) {
  const column = head.dataset.column;
  head.querySelector("button").onclick = () => change({ sort: state.sort === column ? "-" + column : column });
}
for (const button of document.querySelectorAll("[data-view]")) {
  button.onclick = () => change({ view: button.dataset.view });
}
document.getElementById("search").oninput = (event) => change({ search: event.target.value });
document.getElementById("all").onclick = () => {
  most += MORE;
  showTable();
};
document.getElementById("csv").onclick = () => {
  const blob = new Blob([csvText(chosenRows())], { type: "text/csv" });
  const url = URL.createObjectURL(blob);
  save("results.csv", url);
  setTimeout(() => URL.revokeObjectURL(url), 60000);
};
listeners.push(showTable);
start();
