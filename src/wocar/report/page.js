"use strict";
for (const button of document.querySelectorAll("thead button")) {
  button.addEventListener("click", () => {
    const head = button.closest("th"), table = button.closest("table"), body = table.tBodies[0];
    const column = head.cellIndex, up = head.getAttribute("aria-sort") === "descending" ? 1 : head.hasAttribute("aria-sort") ? -1 : 1;
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up > 0 ? "ascending" : "descending");
    const key = (row) => {
      const cell = row.cells[column];
      return "value" in cell.dataset ? Number(cell.dataset.value) : null;
    };
    const rows = [...body.rows].sort((a, b) => {
      const x = key(a), y = key(b);
      if (x !== null && y !== null) return up * (x - y);
      if (x !== null || y !== null) return x === null ? 1 : -1;
      return up * a.cells[column].textContent.localeCompare(b.cells[column].textContent, undefined, {numeric: true});
    });
    body.append(...rows);
  });
}
for (const button of document.querySelectorAll(".legend button")) {
  button.addEventListener("click", () => {
    const shown = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(shown));
    const marks = button.closest("figure").querySelector(`[data-series="${button.dataset.shows}"]`);
    marks.classList.toggle("off", !shown);
  });
}
const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
for (const button of document.querySelectorAll(".play")) {
  const image = button.closest("figure").querySelector("img"), frame = image.src, moving = image.dataset.moving;
  const play = (on) => {
    image.src = on ? moving : frame;
    button.setAttribute("aria-pressed", String(on));
    button.textContent = on ? "Pause" : "Play";
  };
  button.addEventListener("click", () => play(button.getAttribute("aria-pressed") !== "true"));
  button.hidden = false;
  play(!still);
}
const tip = document.createElement("div");
tip.className = "tip";
tip.hidden = true;
document.body.append(tip);
document.addEventListener("pointerover", (event) => {
  const mark = event.target.closest?.("figure svg g"), title = mark?.querySelector(":scope > title");
  tip.hidden = !title;
  if (!title) return;
  tip.textContent = title.textContent;
  const box = mark.getBoundingClientRect(), width = tip.offsetWidth;
  tip.style.left = `${scrollX + Math.max(4, Math.min(box.left + box.width / 2 - width / 2, document.documentElement.clientWidth - width - 4))}px`;
  tip.style.top = `${scrollY + box.top - tip.offsetHeight - 6}px`;
});
for (const box of document.querySelectorAll(".readings")) {
  const slider = box.querySelector("input"), rows = box.querySelectorAll("li"), told = box.querySelector("output");
  const chart = box.closest("figure").querySelector("svg[role=img]");
  const cursor = document.createElementNS(chart.namespaceURI, "path");
  cursor.setAttribute("class", "cursor");
  chart.append(cursor);
  const read = () => {
    const row = rows[slider.value];
    cursor.setAttribute("d", `M${row.dataset.x} 12V254`);
    slider.setAttribute("aria-valuetext", row.textContent);
    told.textContent = row.textContent;
  };
  slider.addEventListener("input", read);
  box.hidden = false;
  read();
}
