// Sentences about what is wrong with a page as it is shown now: for tests, with the window's width and "light" or "dark".
([width, scheme]) => {
  const faults = [];
  const box = (element) => element.getBoundingClientRect();
  const named = (element) => element.closest("figure")?.querySelector("figcaption span").textContent ?? element.tagName;
  const said = (element) => JSON.stringify(element.textContent.trim().slice(0, 40));

  if (document.documentElement.scrollWidth > width) faults.push(`the page is wider than the window: ${document.documentElement.scrollWidth}`);
  for (const plot of document.querySelectorAll(".plot")) {
    const svg = plot.querySelector("svg");
    const marks = svg?.querySelectorAll(".role-mark path, .role-mark line").length ?? 0;
    if (!marks) {
      faults.push(`${named(plot)}: the plot is empty`);
      continue;
    }
    const frame = box(svg);
    const texts = [...svg.querySelectorAll("text")].filter((text) => text.textContent.trim() && box(text).width && +getComputedStyle(text).opacity);
    const boxes = texts.map(box);
    texts.forEach((text, index) => {
      const own = boxes[index];
      if (text.textContent.includes("…")) faults.push(`${named(plot)}: ${said(text)} is cut`);
      if (own.left < frame.left - 1 || own.right > frame.right + 1 || own.top < frame.top - 1 || own.bottom > frame.bottom + 1) {
        faults.push(`${named(plot)}: ${said(text)} is cut by the drawing's edge`);
      }
      for (let other = index + 1; other < texts.length; other += 1) {
        const [a, b] = [own, boxes[other]];
        const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (across > 1 && down > 2.5) faults.push(`${named(plot)}: ${said(text)} overlaps ${said(texts[other])}`);
      }
    });
  }
  for (const element of document.querySelectorAll("button, select, figcaption, summary, h1, h2, h3, p, dd, nav a, label")) {
    if (!element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    const cut = element.scrollWidth > element.clientWidth + 1 && style.display !== "inline" && element.tagName !== "SELECT";
    if (cut) faults.push(`${element.tagName} ${said(element)} is cut: ${element.scrollWidth} in ${element.clientWidth}`);
    const own = box(element);
    const scrolls = element.closest(".scroll, .plot, #variants");
    if (!scrolls && own.right > width + 1) faults.push(`${element.tagName} ${said(element)} is cut by the window`);
  }
  const channels = getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number);
  const bright = channels.slice(0, 3).reduce((sum, value) => sum + value) / 3 > 128;
  if (bright !== (scheme === "light")) faults.push(`the page is not ${scheme}`);
  return faults;
}
