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
