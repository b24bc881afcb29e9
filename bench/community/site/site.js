// Shared by all pages: formatted numbers, the data of a kind of machine, and its tables. Loaded before the data.
"use strict";
const snnbench = { machines: {}, waiting: {}, add(kind, data) { this.machines[kind] = read(data); this.waiting[kind]?.(); } };
const TOTAL = 10000, USUAL = "by all rules";

function read(data) {
  const starts = [0];
  data.counts.forEach((count) => starts.push(starts.at(-1) + count));
  const others = data.groups.map(() => []);
  data.others.forEach(([group, ...row]) => others[group].push(row));
  return { ...data, starts, others };
}

// Resolves to the data of a kind of machine once its script is loaded.
function load(kind, folder) {
  if (snnbench.machines[kind]) return Promise.resolve(snnbench.machines[kind]);
  return new Promise((resolve, reject) => {
    snnbench.waiting[kind] = () => resolve(snnbench.machines[kind]);
    const script = document.createElement("script");
    script.src = `${folder}data/${kind}.js`;
    script.onerror = () => reject(new Error(`${script.src} is missing`));
    document.head.append(script);
  });
}

function scaled(value, units) {
  const [factor, unit] = units.find(([least]) => Math.abs(value) >= least) ?? units.at(-1);
  const number = value / factor;
  return `${number.toFixed(number >= 100 ? 0 : number >= 10 ? 1 : 2)} ${unit}`;
}
const seconds = (micro) => micro ? scaled(micro, [[1e6, "s"], [1e3, "ms"], [1, "µs"], [1e-3, "ns"]]) : "";
const size = (kibi) => kibi ? scaled(kibi, [[2 ** 20, "GiB"], [2 ** 10, "MiB"], [1, "KiB"]]) : "";
// A ratio of an undecided order, in two digits.
const roughly = (ratio) => ratio.toFixed(ratio >= 10 ? 0 : 1);
const times = (ratio) => ratio >= 100 ? ratio.toFixed(0) : ratio >= 10 ? ratio.toFixed(1) : ratio.toFixed(2);

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== undefined && value !== false) made.setAttribute(name, value);
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

// The rows of a group, the fastest first, unranked ones last.
function rowsOf(data, group) {
  const rows = [];
  for (let at = data.starts[group]; at < data.starts[group + 1]; at += 1) {
    const row = Object.fromEntries(Object.entries(data.columns).map(([name, column]) => [name, column[at]]));
    const ends = (middle, low, high) => low || high ? [middle * (1 - low / TOTAL), middle * (1 + high / TOTAL)] : null;
    rows.push({
      ...row,
      name: data.variants[row.variant], page: data.pages[row.variant], release: data.versions[row.version],
      mark: data.marks[row.variant], meaning: data.meanings[data.marks[row.variant]], interval: ends(row.step, row.low, row.high), others: data.confirmed[at] ?? 0,
      between: ends(row.ratio, row.ratio_low, row.ratio_high), remarks: data.flags.filter((_, bit) => row.flags & 1 << bit),
    });
  }
  return rows;
}

const named = (row) => row.release && !row.name.includes(row.release) ? `${row.name} ${row.release}` : row.name;
const withMark = (row, text) => [text, ...(row.mark ? [" ", element("span", { class: "ours", title: row.meaning }, row.mark)] : [])];
const link = (row, folder) => element("a", { href: `${folder}framework/${row.page}.html` }, row.name);
// An interval, with one unit if both ends share it.
function between(ends, say) {
  if (!ends) return "";
  const [low, high] = ends.map(say), [number, unit] = low.split(" ");
  return `${unit && high.endsWith(` ${unit}`) ? number : low} – ${high}`;
}
const rank = (row) => !row.best ? "" : `${row.best === 1 && row.worst > 1 ? "=" : ""}${row.best < row.worst ? `${row.best}–${row.worst}` : row.best}`;
const HEADS = [["#", "ranks that it may have; =: not shown to be slower than the fastest"], ["framework", ""], ["step", ""],
  ["× fastest", "its time over that of the fastest, with a 95 % interval"], ["forward", ""], ["backward", ""], ["inference", ""],
  ["memory", "the most in use at once"], ["remarks", "what to know before trusting its time"]];

const valueOf = (data, group, name) => {
  const at = data.axes.findIndex((axis) => axis.name === name);
  return at < 0 || data.groups[group][at] < 0 ? "" : data.axes[at].values[data.groups[group][at]];
};
const loads = (data, group) => valueOf(data, group, "workload") === "data";
// The timed unit: a step, an epoch, or another phase that ranks; and its network or data.
function whole(data, group) {
  if (loads(data, group)) return ["epoch", "every batch of the data, delivered, and trained on if there is a network behind"];
  const phase = valueOf(data, group, "ranked_by");
  if (phase) return [phase, "a call of this phase alone, by which this comparison is ranked, and the 95 % interval in this run"];
  return ["step", "a forward, a backward and an update, and the 95 % interval in this run"];
}

function tableOf(data, group, folder) {
  const rows = rowsOf(data, group);
  const phases = ["forward", "backward", "inference"].filter((phase) => rows.some((row) => row[phase]));
  const heads = HEADS.filter(([text]) => phases.includes(text) || !["forward", "backward", "inference"].includes(text));
  const ratioOf = data.notes[group] ? roughly : times;
  const small = (text) => text ? element("small", {}, text) : "";
  const body = rows.map((row) => element("tr", { class: row.best === 1 && !data.notes[group] ? "leading" : undefined },
    element("td", { class: "number" }, data.notes[group] ? "" : rank(row)),
    element("th", { scope: "row" }, link(row, folder), " ", ...withMark(row, element("small", {}, row.name.includes(row.release) ? "" : row.release))),
    element("td", { class: "number" }, seconds(row.step), " ", small(between(row.interval, seconds))),
    element("td", { class: "number" }, row.ratio ? ratioOf(row.ratio) : "", " ", small(row.ratio > 1 ? between(row.between, ratioOf) : "")),
    ...phases.map((phase) => element("td", { class: "number" }, seconds(row[phase]))),
    element("td", { class: "number" }, size(row.memory)),
    element("td", {}, [row.best ? "" : "own neuron, not ranked", row.others ? `confirmed by ${row.others}` : "", ...row.remarks].filter(Boolean).join(", "))));
  const headed = (text) => text === "× fastest" && data.notes[group] ? "× least" : text;
  const head = element("tr", {}, ...heads.map((one) => one[0] === "step" ? whole(data, group) : one).map(([text, hint]) => element("th", { scope: "col", title: hint || undefined, class: ["framework", "remarks"].includes(text) ? undefined : "number" }, headed(text))));
  const table = element("div", { class: "scroll", tabindex: "0" }, element("table", {}, element("thead", {}, head), element("tbody", {}, ...body)));
  const reasons = new Map();
  for (const [variant, version, reason, memory] of data.others[group]) {
    const told = [data.variants[variant], data.versions[version], memory ? `(${size(memory)})` : ""].filter(Boolean).join(" ");
    reasons.set(reason, [...reasons.get(reason) ?? [], told]);
  }
  const missing = [...reasons].map(([reason, names]) => element("li", {}, element("b", {}, names.join(", ")), ` – ${data.reasons[reason]}`));
  return [rows.length ? table : "", missing.length ? element("details", { class: "missing", open: rows.length ? undefined : "" },
    element("summary", {}, `${data.others[group].length} without a time, and why`), element("ul", {}, ...missing)) : ""];
}

// The conditions of a group in words, on the axes with choices (`asked`) or on the others.
function conditionsOf(data, group, asked) {
  return data.axes.map((axis, at) => [axis, data.groups[group][at]]).filter(([axis, value]) => value >= 0 && (axis.values.length > 1) === asked && axis.values[value] !== USUAL)
    .map(([axis, value]) => axis.numbers && !["threads"].includes(axis.name) ? `${axis.head} ${axis.values[value]}` : axis.values[value]);
}
