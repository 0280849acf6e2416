"""Tables as Markdown, CSV and LaTeX; the numbers of a chart as CSV."""

import csv
import io
import re

from wocar.report.axes import intervals
from wocar.report.model import Chart, Table, TableCell
from wocar.text import markdown_text, plain_text

LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\^{}", "±": r"$\pm$", "γ": r"$\gamma$"}
NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)(e[-+]?\d+)?|[-+]?(inf|nan)", re.I)
LATEX |= {sign: f"\\{sign}" for sign in "&%$#_{}"}


def markdown(table: Table) -> str:
    """The lowest return of a row in bold, the paper's numbers in brackets."""
    lines = [
        f"## {markdown_text(table.title)}",
        "",
        markdown_text(table.about),
        "",
        _pipes(list(map(markdown_text, table.headings))),
    ]
    lines.append("|---|" + "---:|" * (len(table.headings) - 1))
    lines += [_pipes([_cell_text(cell) for cell in row]) for row in table.rows]
    return "\n".join(lines) + "\n"


def csv_text(table: Table) -> str:
    """Every cell as its full number; intervals and the paper's numbers in columns of their own."""
    rows = [[cell.text if cell.value is None else repr(cell.value) for cell in row] for row in table.rows]
    headings = list(table.headings)
    for name in ("note", "published"):
        for k, heading in enumerate(table.headings):
            if any(getattr(row[k], name) for row in table.rows):
                headings.append(f"{heading}: {'interval' if name == 'note' else 'paper'}")
                for row, cells in zip(rows, table.rows, strict=True):
                    row.append(getattr(cells[k], name))
    return _csv([headings, *rows])


def latex(table: Table) -> str:
    """A tabular for the booktabs package."""
    lines = [f"% {plain_text(table.title)}", rf"\begin{{tabular}}{{l{'r' * (len(table.headings) - 1)}}}", r"\toprule"]
    lines += [" & ".join(map(_tex, table.headings)) + r" \\", r"\midrule"]
    for row in table.rows:
        lines.append(" & ".join(rf"\textbf{{{_tex(c.text)}}}" if c.worst else _tex(c.text) for c in row) + r" \\")
        for name, size in (("note", r"\scriptsize"), ("published", r"\scriptsize paper")):
            if any(getattr(cell, name) for cell in row):
                notes = [f"{{{size} {_tex(text)}}}" if (text := getattr(cell, name)) else "" for cell in row]
                lines.append(" & ".join(notes) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def chart_csv(chart: Chart) -> str:
    """One row for each point of each series."""
    rows: list[list[object]] = [["series", chart.x or "category", chart.y, "low", "high"]]
    for s in chart.series:
        for x, y, interval in zip(s.x, s.y, intervals(s), strict=True):
            at = chart.categories[int(x)] if chart.categories else f"{x:.6g}"
            rows.append([s.label, at, *("" if v is None else f"{v:.6g}" for v in (y, *(interval or (None, None))))])
    return _csv(rows)


def _cell_text(cell: TableCell) -> str:
    text = f"**{markdown_text(cell.text)}**" if cell.worst else markdown_text(cell.text)
    note = f" ({markdown_text(cell.note)})" if cell.note else ""
    return f"{text}{note}" + (f" [paper: {markdown_text(cell.published)}]" if cell.published else "")


def _pipes(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _tex(text: str) -> str:
    return "".join(LATEX.get(sign, sign) for sign in plain_text(text))


def _csv(rows: list[list[object]] | list[list[str]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([[_csv_cell(cell) for cell in row] for row in rows])
    return out.getvalue()


def _csv_cell(cell: object) -> str:
    """As text: a spreadsheet takes what begins with these signs for a formula, unless it is a number."""
    text = plain_text(str(cell))
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) and not NUMBER.fullmatch(text) else text
