// A machine's page: every comparison, drawn when opened.
"use strict";
const list = document.getElementById("groups");
const search = document.getElementById("search");
const kind = list.dataset.kind;

load(kind, "../").then((data) => {
  const entries = data.groups.map((_, group) => {
    const rows = rowsOf(data, group), best = rows.find((row) => row.best);
    const level = rows.filter((row) => row.best === 1).length;
    const title = conditionsOf(data, group, true).join(" · ");
    const first = best ? data.notes[group] ? `not decided: ${data.notes[group]}` : `${named(best)}${best.mark ? ` (${best.mark})` : ""}, ${seconds(best.step)}${level > 1 ? `, level with ${level - 1} more` : ""}` : "";
    const said = first || (rows.length ? "not ranked" : "no time");
    const entry = element("details", { class: "group" }, element("summary", {}, title, " ", element("span", { class: "muted" }, said)));
    entry.addEventListener("toggle", () => {
      if (entry.open && entry.children.length === 1) {
        entry.append(...tableOf(data, group, "../"), element("p", {}, element("a", { href: `../index.html#${kind}.${data.ids[group]}` }, "as an answer, to link to")));
      }
    });
    return { entry, text: `${title} ${said}`.toLowerCase() };
  });
  list.replaceChildren(...entries.map(({ entry }) => entry));
  search.addEventListener("input", () => {
    const words = search.value.toLowerCase().split(/\s+/);
    entries.forEach(({ entry, text }) => { entry.hidden = !words.every((word) => text.includes(word)); });
  });
  entries[data.first].entry.open = true;
  document.body.dataset.group = "ready";
});
