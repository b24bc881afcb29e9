"use strict";
// Draws the panels that match the filters with Vega: each as it comes into view, and all at once if they are few.

const ROW = 30; // height of a framework's line; as in figures/spec.py
const NARROW = 430; // plots up to this width have short labels
const PAPER = 700; // width of printed plots
const FEW = 6; // panels of a figure that are shown at first
const AT_ONCE = 40; // panels of a page that are drawn without scrolling, for saved pages and pictures
const dark = matchMedia("(prefers-color-scheme: dark)");
const more = new Set(); // figures of which all panels are shown
const drawn = new Map(); // element of a panel → its Vega view
const seen = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting) draw(entry.target);
}, { rootMargin: "200px" });

const sized = new ResizeObserver((entries) => {
  for (const { target } of entries) if (drawn.has(target) && Math.abs(target.clientWidth - target.width) > 1) draw(target);
});

/** `spec` with every text `$name` replaced by `values.name`; as `substituted` in Python. */
function substituted(spec, values) {
  if (Array.isArray(spec)) return spec.map((item) => substituted(item, values));
  if (spec && typeof spec === "object") {
    return Object.fromEntries(Object.entries(spec).map(([key, item]) => [key, substituted(item, values)]));
  }
  return typeof spec === "string" && spec[0] === "$" && spec.slice(1) in values ? values[spec.slice(1)] : spec;
}

/** The points of the chosen frameworks; a panel marked `whole` keeps all. */
function wantedPoints(panel) {
  return panel.points.filter((point) => panel.names.whole || !("row" in point) || wanted(data.variants[point.row]));
}

function pointsOf(panel) {
  const fields = Object.entries({ variant: "variant", ...panel.fields });
  const values = (row) => Object.fromEntries(fields.map(([name, column]) => [name, valueOf(row, column)]));
  return wantedPoints(panel).map((point) => ("row" in point ? { ...values(point.row), ...point } : point));
}

/** Values of the names in a specification: the panel's without filtered frameworks, and the theme's. */
function valuesOf(panel, width, theme) {
  const variants = panel.names.variants || [];
  const stays = variants.map((name) => panel.names.whole || !(name in data.styles) || wanted(name));
  const names = Object.fromEntries(Object.entries(panel.names).map(([key, value]) =>
    [key, key === "variants" ? value.filter((_, index) => stays[index]) : value]));
  const styles = (names.variants || []).map((name) => data.styles[name]).filter(Boolean);
  return {
    ...data.themes[theme].names,
    colours: styles.map((style) => style[theme]),
    shapes: styles.map((style) => style.shape),
    dashes: styles.map((style) => style.dash),
    ...names,
    ...("baseline" in names ? { baseline: state.baseline } : {}),
    points: pointsOf(panel),
    columns: Math.max(1, Math.floor(width / 170)),
    cell: Math.max(88, Math.min(132, Math.floor((width - 64) / names.cells))),
    written: width > NARROW ? "text" : "brief",
    names_width: Math.min(190, Math.round(0.33 * width)),
    width: Math.max(width - 2, 200),
    height: (names.row || ROW) * (names.variants || []).length,
  };
}

const vega = unpacked("vega"); // defines vegaEmbed

/** Runs a compressed script of the page; the page's policy knows the script by its hash. */
async function unpacked(name) {
  const bytes = Uint8Array.from(atob(loaded(name)), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const text = await new Response(stream).text();
  document.body.append(element("script", { textContent: text }));
}

/** A Vega view of a panel in `host`; `besides` goes into its specification. */
async function embedded(host, { figure, panel }, width, theme, besides = {}) {
  const spec = { ...substituted(figure.spec, valuesOf(panel, width, theme)), ...besides };
  const options = {
    actions: false,
    renderer: "svg",
    ast: true, // expressions are interpreted: the page's policy forbids making code from text
    logLevel: 1, // errors only
    config: data.themes[theme].config,
    tooltip: { theme },
  };
  await vega;
  return (await vegaEmbed(host, spec, options)).view;
}

async function draw(target, paper = false) {
  seen.unobserve(target);
  target.width = paper ? Math.min(target.clientWidth, PAPER) : target.clientWidth;
  const view = await embedded(target, target, target.width, dark.matches && !paper ? "dark" : "light");
  // To a screen reader it is one picture: its numbers are in the table.
  Object.assign(target, { role: "img", ariaLabel: `${target.figure.title}. ${target.panel.title}` });
  target.querySelector("svg").setAttribute("aria-hidden", "true");
  drawn.get(target)?.finalize();
  drawn.set(target, view);
  sized.observe(target);
  target.classList.add("drawn");
}

/** The text in lines of at most `letters`. */
function wrapped(text, letters) {
  return (text.match(new RegExp(`.{1,${letters}}(\\s|$)`, "g")) || [text]).map((line) => line.trim());
}

/** Saves a panel as a light picture with its title and notes. */
async function exportPanel(target, kind) {
  const { figure, panel } = target;
  const letters = Math.floor(target.clientWidth / 7);
  const title = { text: wrapped(figure.title, letters), subtitle: [panel.title, ...panel.notes, figure.key].filter(Boolean).flatMap((text) => wrapped(text, letters)) };
  const view = await embedded(document.createElement("div"), target, target.clientWidth, "light", { title });
  save(`${target.name}.${kind}`, await view.toImageURL(kind, 2));
  view.finalize();
}

function card(figure, panel, index, id) {
  const target = element("div", { className: "plot", figure, panel, name: `${id}-${index + 1}` });
  const buttons = ["PNG", "SVG"].map((kind) => {
    const ariaLabel = `Save ${figure.title}, ${panel.title} as ${kind}`;
    return element("button", { type: "button", textContent: kind, ariaLabel, onclick: () => exportPanel(target, kind.toLowerCase()) });
  });
  const head = element("figcaption", {}, element("span", { textContent: panel.title }), element("span", { className: "save" }, ...buttons));
  const notes = element("ul", { className: "names" }, ...panel.notes.map((text) => element("li", { textContent: text })));
  return element("figure", {}, head, target, ...(panel.notes.length ? [notes] : []));
}

/** Shows a figure's matching panels; slots are shown of one case. */
function lay(section) {
  const id = section.dataset.figure;
  const figure = data.figures[id];
  if (!figure) return;
  const panels = id === "slots" ? ofOneCase(section, figure.panels) : figure.panels.filter((panel) => matches(panel.where) && wantedPoints(panel).length);
  const limit = more.has(id) ? panels.length : FEW;
  const host = section.querySelector(".panels");
  for (const target of host.querySelectorAll(".plot")) {
    seen.unobserve(target);
    sized.unobserve(target);
    drawn.get(target)?.finalize();
    drawn.delete(target);
  }
  host.replaceChildren(...panels.slice(0, limit).map((panel) => card(figure, panel, figure.panels.indexOf(panel), id)));
  for (const target of host.querySelectorAll(".plot")) seen.observe(target);
  const button = section.querySelector(".more");
  button.hidden = panels.length <= limit;
  button.textContent = panels.length > limit ? `Show ${panels.length - limit} more` : "";
  button.onclick = () => {
    more.add(id);
    lay(section);
  };
  section.querySelector(".none").hidden = panels.length > 0;
}

function ofOneCase(section, panels) {
  const titles = new Map(panels.map((panel) => [panel.names.of, panel.title.replace(/ · [^·]*$/, "")]));
  const rows = [...titles.keys()].filter(shownRow);
  const select = section.querySelector("#case");
  const ids = rows.map((row) => valueOf(row, "case_id") + valueOf(row, "machine"));
  select.replaceChildren(...rows.map((row, index) => new Option(titles.get(row), ids[index])));
  const chosen = Math.max(0, ids.indexOf(state.case));
  select.value = ids[chosen];
  select.onchange = () => {
    state.case = select.value;
    address();
    lay(section);
  };
  return panels.filter((panel) => panel.names.of === rows[chosen]);
}

function layAll() {
  for (const section of document.querySelectorAll("[data-figure]")) lay(section);
  drawFew();
}

/** Draws the remaining panels one after the other if they are few; the page stays responsive. */
async function drawFew() {
  const targets = document.querySelectorAll(".plot");
  if (targets.length > AT_ONCE) return;
  for (const target of targets) {
    if (target.isConnected && !("width" in target)) await draw(target);
    await new Promise((next) => setTimeout(next));
  }
}

/** Draws all figures for paper. A browser prints right after the event, so nothing here loads data. */
addEventListener("beforeprint", () => {
  for (const target of document.querySelectorAll(".plot")) draw(target, true);
});
addEventListener("afterprint", layAll);

listeners.push(layAll);
dark.addEventListener("change", layAll);
