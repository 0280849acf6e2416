"""wocar report PATH... --out report.html [--figures DIR] [--tables DIR] | wocar report --leaderboard [DIR]"""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from wocar.cli.option_types import Maybe
from wocar.cli.options import parse, say
from wocar.files import one_line_errors, write_atomic
from wocar.report.contents import Contents, contents, title_of
from wocar.report.formats import chart_csv, csv_text, latex, markdown
from wocar.report.leaderboard import read_leaderboard
from wocar.report.leaderboard_page import leaderboard_contents
from wocar.report.page import page
from wocar.report.plots import MISSING, can_plot, save_chart
from wocar.report.sources import collect
from wocar.reproduce.paper_numbers import published
from wocar.text import file_name
from wocar.types import UserError


@dataclass(frozen=True)
class ReportOptions:
    paths: Annotated[tuple[Path, ...], tyro.conf.Positional] = ()
    """Run folders, audits, estimates, recordings, or folders that hold them."""
    leaderboard: bool = False
    """The page of a leaderboard instead; its folder is the path, by default `leaderboard`."""
    out: Path = Path("report.html")
    """The page: one file that needs nothing else."""
    title: Maybe[str] = None
    """By default the names of the paths."""
    figures: Maybe[Path] = None
    """Write the figures here too, as PNG, SVG and PDF, each with its numbers as CSV; needs matplotlib."""
    tables: Maybe[Path] = None
    """Write the tables here too, as Markdown, CSV and LaTeX."""


def main(argv: list[str]) -> int:
    about = "One page of what was trained and measured, beside the paper's numbers."
    options: ReportOptions = parse(ReportOptions, argv, "report", about)
    if not options.paths and not options.leaderboard:
        raise UserError("which paths? name run folders, audits or folders that hold them")
    if not options.out.parent.is_dir():
        raise UserError(f"cannot write {options.out}: its folder does not exist")
    if options.figures and not can_plot():
        raise UserError(f"--figures: {MISSING}")
    found, title = _leaderboard(options.paths) if options.leaderboard else _results(options.paths)
    title = options.title or title
    html = page(found, title, shlex.join(["wocar", "report", *argv]))
    write_atomic(options.out, html.encode())
    if options.figures:
        _write_figures(found, options.figures)
    if options.tables:
        _write_tables(found, options.tables)
    for note in found.notes:
        say(note)
    print(f"{options.out}: {len(found.charts)} figures, {len(found.tables)} tables, {len(html) / 1e6:.1f} MB")
    return 0


def _results(paths: tuple[Path, ...]) -> tuple[Contents, str]:
    sources = collect(paths)
    title = ", ".join(f"{p.target} ({p.scale})" for p in sources.plans) or title_of(paths)
    return contents(sources, published()), title


def _leaderboard(paths: tuple[Path, ...]) -> tuple[Contents, str]:
    if len(paths) > 1:
        raise UserError("--leaderboard takes one folder")
    return leaderboard_contents(read_leaderboard(paths[0] if paths else Path("leaderboard"))), "Leaderboard"


def _write_figures(found: Contents, folder: Path) -> None:
    _make(folder)
    for chart in found.charts:
        with one_line_errors("write", folder):
            save_chart(chart, found.styles(chart), folder)
        write_atomic(folder / f"{file_name(chart.name)}.csv", chart_csv(chart).encode())


def _write_tables(found: Contents, folder: Path) -> None:
    _make(folder)
    for table in found.tables:
        name = file_name(table.name)
        for suffix, text in (("md", markdown(table)), ("csv", csv_text(table)), ("tex", latex(table))):
            write_atomic(folder / f"{name}.{suffix}", text.encode())


def _make(folder: Path) -> None:
    with one_line_errors("write", folder):
        folder.mkdir(parents=True, exist_ok=True)
