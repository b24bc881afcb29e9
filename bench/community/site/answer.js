// The start page: choices among measured conditions, and the answer. A combination that was never measured moves to the nearest
// measured one.
"use strict";
const machines = JSON.parse(document.getElementById("machines").textContent);
const form = document.getElementById("choices");
const answer = document.getElementById("answer");
const MOST_NAMED = 4, ALWAYS = ["workload", "neuron", "precision", "neurons", "time_steps", "batch"];
let data, kind, group;

// Sizes give way first, then the device, and the mathematics last. The submitter counts only if chosen.
const LAST_TO_GIVE_WAY = [["neuron"], ["workload"], ["network"], ["precision"], ["device"]], ORIGIN = ["source", "loosened", "seed"];
const chosenAxes = new Set();

function tierOf(axis) {
  const named = LAST_TO_GIVE_WAY.findIndex((names) => names.includes(axis.name));
  if (named >= 0) return named;
  if (ORIGIN.includes(axis.name)) return LAST_TO_GIVE_WAY.length + 2;
  return LAST_TO_GIVE_WAY.length + (axis.numbers && axis.name !== "threads" ? 1 : 0);
}

// Distance of a comparison from the choice, by tiers: octaves of sizes, 1 for another word. Decided comparisons are nearer.
function distance(number, chosen) {
  const far = Array(LAST_TO_GIVE_WAY.length + 3).fill(0);
  data.axes.forEach((axis, at) => {
    const here = data.groups[number][at], there = chosen[at];
    if (here === there || here < 0 || there < 0 || (ORIGIN.includes(axis.name) && !chosenAxes.has(axis.name))) return;
    far[tierOf(axis)] += axis.numbers ? Math.abs(Math.log2((axis.numbers[here] + 1) / (axis.numbers[there] + 1))) : 1;
  });
  return [...far, data.notes[number] ? 1 : 0, -data.counts[number]];
}

function nearer(one, other) {
  const at = one.findIndex((far, place) => far !== other[place]);
  return at >= 0 && one[at] < other[at];
}

function snapped(axis, value) {
  const chosen = [...data.groups[group]];
  chosen[axis] = value;
  chosenAxes.add(data.axes[axis].name);
  const known = data.groups.map((_, number) => number).filter((number) => data.groups[number][axis] === value && (data.counts[number] || number === group));
  return known.reduce((best, number) => nearer(distance(number, chosen), distance(best, chosen)) ? number : best);
}

// Values that only repeat their heading.
const choiceOf = (axis, value) => ({ [axis.head]: "yes", [`no ${axis.head}`]: "no" })[value] ?? value;

function choices() {
  const own = data.groups[group], network = data.axes.findIndex((axis) => axis.name === "workload");
  const timed = data.groups.filter((_, number) => data.counts[number] || number === group);
  const alike = timed.filter((one) => one[network] === own[network]);
  const labels = data.axes.map((axis, at) => {
    const known = new Set((axis.name === "workload" || axis.name === "device" ? timed : alike).map((one) => one[at]));
    known.delete(-1);
    if ((known.size < 2 && !ALWAYS.includes(axis.name)) || own[at] < 0) return "";
    const options = [...known].sort((a, b) => a - b).map((value) => element("option", { value, selected: value === own[at] ? "" : undefined }, choiceOf(axis, axis.values[value])));
    return element("label", {}, element("span", {}, axis.head), element("select", { name: axis.name, "data-axis": at }, ...options));
  });
  const device = element("select", { name: "machine" }, ...machines.map((one) => element("option", { value: one.kind, selected: one.kind === kind ? "" : undefined }, one.label)));
  const focused = document.activeElement?.name;
  form.replaceChildren(element("label", { class: "wide" }, element("span", {}, "machine"), device), ...labels);
  if (focused) form.elements[focused]?.focus();
}

const oneOf = (number) => loads(data, number) ? "an epoch" : valueOf(data, number, "ranked_by") ? `a call of ${valueOf(data, number, "ranked_by")}` : "a step";

function sentence(rows) {
  const ranked = rows.filter((row) => row.best), leading = ranked.filter((row) => row.best === 1);
  const bold = (text) => element("b", {}, text);
  const marked = (row) => withMark(row, bold(named(row)));
  if (!ranked.length) return [rows.length ? "Each framework’s own neuron: another one in each, so none is the fastest. The times are in the table." : "No framework has a time here."];
  if (data.notes[group]) return [`Not decided: ${data.notes[group]}. The least that was measured is `, ...marked(ranked[0]), ": ", bold(`${seconds(ranked[0].step)} ${oneOf(group)}`), "."];
  if (leading.length > 1) {
    const some = leading.slice(0, MOST_NAMED), more = leading.length - some.length;
    const names = some.flatMap((row, at) => [at ? at === some.length - 1 && !more ? " and " : ", " : "", ...marked(row)]);
    const next = ranked.find((row) => row.best > 1);
    return [...names, more ? ` and ${more} more` : "", " are level: ", leading.length > 2 ? "none" : "neither", " is shown to be faster", ...(next ? [". The next, ", ...withMark(next, named(next)), `, takes ${times(next.ratio)} times as long. `] : [". "]), "The first took ", bold(`${seconds(leading[0].step)} ${oneOf(group)}`), "."];
  }
  const [best, next] = ranked;
  const lead = next ? [", ", bold(`${times(next.ratio)} times as fast as`), " ", ...marked(next), next.between ? ` (${between(next.between, times)})` : ""] : [", and no other framework was proved here"];
  return [...marked(best), ": ", bold(`${seconds(best.step)} ${oneOf(group)}`), ...lead, "."];
}

function facts(rows, source) {
  const ranked = rows.filter((row) => row.best);
  if (!ranked.length) return [];
  const [best] = ranked, lean = Math.min(...ranked.map((row) => row.memory).filter(Boolean)), leanest = ranked.find((row) => row.memory === lean);
  const memory = [size(best.memory) || "not weighed", leanest && leanest !== best ? `; the least is ${size(lean)}, of ${named(leanest)}` : best.memory ? ", the least of all" : ""];
  const sure = [best.interval ? `95 % interval ${between(best.interval, seconds)}` : `no interval: ${best.blocks > 1 ? "too few clean slots" : "one block"}`,
    `${best.blocks} block${best.blocks > 1 ? "s" : ""} of fresh processes`, best.others ? `confirmed by ${best.others} other${best.others > 1 ? "s" : ""}` : "1 submitter", ...best.remarks];
  const others = ranked.filter((row) => !row.mark);
  const found = [["memory", memory.join("")], ["how sure", sure.join(" · ")]];
  if (best.mark && others.length) found.push(["of the others", `${named(others[0])}, ${seconds(others[0].step)} ${oneOf(group)}`]);
  found.push(["proved", loads(data, group) ? "to deliver frames and labels that equal, element by element, those that NumPy makes of the recordings, which are tonic’s"
    : "to compute the same network as a float64 oracle, before it was timed"]);
  found.push(["measured", `${source.date} by ${source.by}, snnbench ${source.snnbench}${source.note ? `: ${source.note}` : ""}`]);
  return found;
}

function show(note = "") {
  const rows = rowsOf(data, group), at = data.axes.findIndex((axis) => axis.name === "source");
  const source = data.sources[data.axes[at].values[data.groups[group][at]]];
  choices();
  answer.replaceChildren(
    element("p", { class: "verdict" }, ...sentence(rows)),
    note ? element("p", { class: "note", role: "status" }, note) : "",
    element("dl", { class: "facts" }, ...facts(rows, source).flatMap(([name, text]) => [element("dt", {}, name), element("dd", {}, text)])),
    ...tableOf(data, group, ""),
    element("p", { class: "muted" }, [["", conditionsOf(data, group, true).join(" · ")], ["Everywhere here: ", conditionsOf(data, group, false).join(", ")]]
      .filter(([, text]) => text).map(([head, text]) => `${head}${text}. `).join(""),
      element("a", { href: `machine/${kind}.html` }, "All of this machine")));
  document.body.dataset.group = data.ids[group];
}

async function open(wanted, id) {
  const known = machines.some((one) => one.kind === wanted) ? wanted : machines[0].kind;
  data = await load(known, "");
  kind = known;
  group = id ? Math.max(data.ids.indexOf(id), -1) : -1;
  const lost = id && group < 0;
  if (group < 0) group = data.first;
  show(lost ? "What the link points to is not among these results any more: this is the largest comparison." : "");
}

async function changed({ target }) {
  if (target.name === "machine") await open(target.value);
  else {
    const before = data.groups[group], axis = +target.dataset.axis;
    group = snapped(axis, +target.value);
    const moved = data.axes.filter((one, at) => at !== axis && before[at] !== data.groups[group][at] && before[at] >= 0 && data.groups[group][at] >= 0)
      .map((one) => [one.head, one.values[data.groups[group][data.axes.indexOf(one)]]]).map(([head, value]) => value.includes(head) || head === "measured by" ? value : `${head} ${value}`);
    show(moved.length ? `Measured with that: ${moved.join(", ")}.` : "");
  }
  history.replaceState(null, "", `#${kind}.${data.ids[group]}`);
}

// Removes the answer to an earlier question.
const failed = (error) => answer.replaceChildren(element("p", { class: "verdict" }, error.message));
const opened = () => open(...decodeURIComponent(location.hash.slice(1)).split(".")).catch(failed);
form.addEventListener("change", (event) => changed(event).catch(failed));
window.addEventListener("hashchange", opened);
opened();
