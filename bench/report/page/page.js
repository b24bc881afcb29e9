"use strict";
// The view: the filters' state, kept in the address (#section&axis=value…), so that a link opens the same view.

const data = { figures: {} }; // filled by `start`
const form = document.getElementById("filters");
const USUAL = { baseline: "", view: "times", sort: "", search: "", case: "" }; // a minus before `sort`: downwards
const state = { filters: {}, frameworks: new Set(), ...USUAL };
const listeners = []; // called when the state has changed

function loaded(name) {
  return JSON.parse(document.getElementById("data-" + name).textContent);
}

/** A column of results.csv for the case in line `row`; null if unknown. */
function valueOf(row, column) {
  if (column === "variant") return data.variants[row];
  return column in data.cells ? data.cells[column][row] : data.same[column];
}

/** True if conditions match the filters; a figure's own axes are no conditions. */
function matches(where) {
  return Object.entries(state.filters).every(([axis, text]) => !text || !(axis in where) || where[axis] === text);
}

function wanted(variant) {
  return !state.frameworks.size || state.frameworks.has(variant);
}

/** Conditions in words, by axis. */
function whereOf(row) {
  return data.places[data.where[row]];
}

function shownRow(row) {
  return wanted(data.variants[row]) && matches(whereOf(row));
}

function refresh() {
  show();
  for (const listener of listeners) listener();
}

function address(section = location.hash.slice(1).split("&")[0]) {
  const parts = new URLSearchParams(Object.entries(state.filters).filter(([axis, text]) => text && text !== standard(axis)));
  for (const name of state.frameworks) parts.append("framework", name);
  for (const name of Object.keys(USUAL)) if (state[name] !== USUAL[name]) parts.set(name, state[name]);
  const hash = "#" + [section.includes("=") ? "" : section, parts.toString()].filter((text, index) => text || !index).join("&");
  document.getElementById("permalink").href = hash;
  try {
    history.replaceState(null, "", hash);
  } catch {
    // Some browsers limit changes of the address; the link in the page has it anyway.
  }
}

/** The default of a filter: the first phase, else no choice. */
function standard(axis) {
  return axis === "phase" ? form.elements.phase.options[0].value : "";
}

function read() {
  const [section, ...rest] = location.hash.slice(1).split("&");
  const parts = new URLSearchParams(section.includes("=") ? [section, ...rest].join("&") : rest.join("&"));
  for (const select of form.querySelectorAll(".controls > label > select")) {
    if (select.name === "baseline") continue;
    const asked = parts.get(select.name);
    state.filters[select.name] = [...select.options].some((option) => option.value === asked) ? asked : standard(select.name);
  }
  state.frameworks = new Set(parts.getAll("framework").filter((name) => name in data.styles));
  for (const [name, usual] of Object.entries(USUAL)) state[name] = parts.get(name) || usual;
  if (!data.timed.includes(state.baseline)) state.baseline = data.baseline;
  refresh();
  return section.includes("=") ? "" : section;
}

/** Puts the state into the controls. */
function show() {
  for (const [axis, text] of Object.entries(state.filters)) form.elements[axis].value = text;
  form.elements.baseline.value = state.baseline;
  for (const box of form.querySelectorAll("#variants input")) box.checked = state.frameworks.has(box.value);
  document.getElementById("chosen").textContent = state.frameworks.size ? `(${state.frameworks.size})` : "(all)";
  const set = Object.entries(state.filters).filter(([axis, text]) => text && axis !== "phase").map(([, text]) => text);
  document.getElementById("filtered").textContent = set.length ? `(${set.join(" · ")})` : "";
}

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function save(name, href) {
  const link = element("a", { href, download: name });
  document.body.append(link);
  link.click();
  link.remove();
}

/** Shows the page. */
function start() {
  Object.assign(data, loaded("cases"));
  USUAL.baseline = state.baseline = data.baseline;
  if (!data.timed.length) USUAL.view = state.view = "memory";
  form.elements.baseline.append(new Option("the fastest", ""), ...data.timed.map((name) => new Option(name, name)));
  const boxes = Object.keys(data.styles).map((name) => element("label", {}, element("input", { type: "checkbox", value: name }), " " + name));
  document.getElementById("variants").append(...boxes);
  if (matchMedia("(max-width: 600px)").matches) form.querySelector("details").open = false;
  form.hidden = false;
  form.addEventListener("change", (event) => {
    const { name, value, checked, type } = event.target;
    if (type === "checkbox") state.frameworks[checked ? "add" : "delete"](value);
    else if (name === "baseline") state.baseline = value;
    else state.filters[name] = value;
    address();
    refresh();
  });
  form.addEventListener("reset", (event) => {
    event.preventDefault();
    for (const axis of Object.keys(state.filters)) state.filters[axis] = standard(axis);
    Object.assign(state, { frameworks: new Set(), baseline: data.baseline, search: "", case: "" });
    address();
    refresh();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    if (!link || link.id === "permalink") return;
    event.preventDefault();
    const section = link.getAttribute("href").slice(1);
    document.getElementById(section)?.scrollIntoView();
    address(section);
  });
  addEventListener("hashchange", () => document.getElementById(read())?.scrollIntoView());
  read();
  for (const section of document.querySelectorAll("[data-figure]:has(.panels)")) {
    const id = section.dataset.figure;
    data.figures[id] = loaded(`figure-${id}`);
    lay(section);
  }
  document.body.classList.add("complete");
  drawFew();
  const [section] = location.hash.slice(1).split("&");
  if (!section.includes("=")) document.getElementById(section)?.scrollIntoView();
}
