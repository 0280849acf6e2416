"""HTML page of a report: one self-contained file."""

import base64
from collections.abc import Sequence
from importlib.resources import files

from wocar import __version__
from wocar.report.clips import Clip, still
from wocar.report.contents import Contents, Section
from wocar.report.formats import chart_csv
from wocar.report.headline import headline_html
from wocar.report.labels import attack_label, eps_text, number
from wocar.report.model import Chart, Table, TableCell
from wocar.report.moved import moved_html
from wocar.report.readings import readings_html
from wocar.report.sources import ReproducePlan
from wocar.report.strips import strips_html
from wocar.report.svg import svg, swatch
from wocar.text import html_text as escape

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; media-src data:"
"""Content security policy: the browser loads nothing from outside the page."""
CLIP_BYTES, CLIPS_BYTES = 1_500_000, 6_000_000
"""Largest recording to embed, and largest total of recordings."""
TEXT_COLUMNS = {"command", "task", "attack", "suite", "by", "link"}
SHOWN_COMMANDS = 40
PLAYER = (
    '<div class="player" hidden><button type="button" class="together" aria-pressed="false">Play in step</button>'
    '<input type="range" min="0" max="0" step="1" value="0" aria-label="Frame of all recordings"><output></output>'
    "</div>"
)
"""Shown where the browser can decode recordings: all of one task, frame by frame."""


def page(contents: Contents, title: str, command: str) -> str:
    budget = _Budget(CLIPS_BYTES)
    body = [_section(section, f"s{i}", contents, budget) for i, section in enumerate(contents.sections)]
    links = [(f"s{i}", section.title) for i, section in enumerate(contents.sections)]
    links += [("flags", f"Flags ({len(contents.flags)})"), ("runs", "What was run")]
    menu = "".join(f'<li><a href="#{id}">{escape(name)}</a></li>' for id, name in links)
    counts = ", ".join(f"{n} {name if n != 1 else name[:-1]}" for name, n in contents.counts.items() if n)
    notes = "".join(f"<li>{escape(note)}</li>" for note in contents.notes)
    left_out = f"<details><summary>Files left out</summary><ul>{notes}</ul></details>" if notes else ""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>{escape(title)} - wocar report</title>
<style>{_asset("page.css")}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the results</a>
<header>
<h1>{escape(title)}</h1>
<p class="soft">{counts}. Returns are raw, victims deterministic, evaluation seeds differ from training seeds.
<code>eps</code> is a radius around the observation after the agent's normaliser, unless raw units are named.</p>
<nav aria-label="Sections"><ul>{menu}</ul></nav>
</header>
<main id="main">
{"".join(map(_plan, contents.plans))}
{"".join(body)}
{_flags(contents)}
<section id="runs"><h2>What was run</h2>{_table(contents.runs)}{left_out}</section>
</main>
<footer>Made by wocar {__version__}: <code>{escape(command)}</code>. This page loads nothing from elsewhere.</footer>
<script>{_asset("page.js")}{_asset("player.js")}</script>
</body>
</html>
"""


def _plan(plan: ReproducePlan) -> str:
    """A reproduction: its target, the tasks still to be done, and the failures."""
    labels = ", ".join(plan.labels)
    state = f" {plan.waiting} tasks are still to be done." if plan.waiting else ""
    failed = "".join(f"<li><strong>failed</strong> {escape(t)}: {escape(why)}</li>" for t, why in plan.failed.items())
    return (
        f'<section class="plan"><p><strong>{escape(plan.target)}, scale {escape(plan.scale)}:</strong> '
        f"{escape(plan.about)}. Beside it the paper's {escape(labels)}.{state}</p>"
        f"{_sources([plan.command])}" + (f'<ul class="flags">{failed}</ul>' if failed else "") + "</section>"
    )


class _Budget:
    """Bytes of recordings that may still be embedded."""

    def __init__(self, left: int) -> None:
        self.left = left

    def takes(self, clip: Clip) -> bool:
        fits = clip.size <= min(self.left, CLIP_BYTES)
        self.left -= clip.size if fits else 0
        return fits


def _section(section: Section, id: str, contents: Contents, budget: _Budget) -> str:
    parts = [_table(table) for table in section.tables]
    charts = [_chart(chart, contents.styles(chart), f"{id}-{i}") for i, chart in enumerate(section.charts)]
    styles = contents.styles(section.charts[0]) if section.charts else {}
    charts += filter(None, (strips_html(section.strips, styles, f"{id}-strips"), moved_html(section.moved)))
    parts += [f'<div class="figures">{"".join(charts)}</div>'] if charts else []
    for i, item in enumerate(section.aside):
        html = _table(item) if isinstance(item, Table) else _chart(item, contents.styles(item), f"{id}-a{i}")
        parts.append(f"<details><summary>{escape(item.title)}</summary>{html}</details>")
    if section.clips:
        clips = "".join(_clip(clip, budget) for clip in section.clips)
        player = PLAYER if len([clip for clip in section.clips if clip.file.suffix == ".gif"]) > 1 else ""
        parts.append(f'<h3>Recordings</h3><div class="clips">{player}<div class="figures">{clips}</div></div>')
    about = f"<p>{escape(section.about)}</p>" if section.about else ""
    about += headline_html(section.headline, section.radius)
    return f'<section id="{id}"><h2>{escape(section.title)}</h2>{about}{"".join(parts)}</section>'


def _table(table: Table) -> str:
    heads = "".join(
        f'<th scope="col"{_kind(name, first=k == 0)}><button type="button">{escape(name)}</button></th>'
        for k, name in enumerate(table.headings)
    )
    rows = "".join(
        f'<tr><th scope="row">{escape(row[0].text)}</th>'
        + "".join(_cell(cell, name) for cell, name in zip(row[1:], table.headings[1:], strict=True))
        + "</tr>"
        for row in table.rows
    )
    name = escape(table.title, quote=True)
    return (
        f'<div class="scroll" role="region" aria-label="{name}" tabindex="0"><table><caption>{name}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
        f'<p class="about">{escape(table.about)}</p>{_sources(table.sources)}'
    )


def _kind(heading: str, first: bool) -> str:
    return ' class="text"' if heading in TEXT_COLUMNS and not first else ""


def _cell(cell: TableCell, heading: str) -> str:
    classes = [*(["text"] if heading in TEXT_COLUMNS else []), *(["worst"] if cell.worst else [])]
    name = f' class="{" ".join(classes)}"' if classes else ""
    value = "" if cell.value is None else f' data-value="{cell.value:.10g}"'
    main = f'<span class="main">{escape(cell.text)}</span>' + (
        '<span class="hidden"> (lowest)</span>' if cell.worst else ""
    )
    note = f'<span class="note">{_lines(cell.note)}</span>' if cell.note else ""
    paper = f'<span class="paper-number">paper {_lines(cell.published)}</span>' if cell.published else ""
    return f"<td{name}{value}>{main}{note}{paper}{_cell_flags(cell)}</td>"


def _cell_flags(cell: TableCell) -> str:
    """The names of the flags of this number, each once; their texts under the pointer and in the list of flags."""
    if not cell.flags:
        return ""
    names = ", ".join(dict.fromkeys(flag.partition(":")[0] for flag in cell.flags))
    texts = escape("; ".join(cell.flags), quote=True)
    return f'<a class="flagged" href="#flags" title="{texts}">{escape(names)}</a>'


def _lines(text: str) -> str:
    """One line for each part between commas, so that columns stay narrow."""
    return escape(text).replace(", ", "<br>")


def _chart(chart: Chart, styles: dict[str, int], id: str) -> str:
    entries = "".join(
        f'<li><button type="button" aria-pressed="true" data-shows="{i}">'
        f"{swatch(styles[s.label], s, chart.kind)}{escape(s.label)}</button></li>"
        for i, s in enumerate(chart.series)
    )
    data = f"<details><summary>Data</summary><pre tabindex='0'>{escape(chart_csv(chart))}</pre></details>"
    return (
        f"<figure><h3>{escape(chart.title)}</h3>{svg(chart, styles, id)}"
        f'<ul class="legend" aria-label="Series: press to hide or show">{entries}</ul>{readings_html(chart)}'
        f"<figcaption>{escape(chart.about)}</figcaption>{_sources(chart.sources)}{data}</figure>"
    )


def _sources(commands: Sequence[str]) -> str:
    if not commands:
        return ""
    shown = "\n".join(commands[:SHOWN_COMMANDS])
    more = f"\n... and {len(commands) - SHOWN_COMMANDS} more" if len(commands) > SHOWN_COMMANDS else ""
    name = "Command" if len(commands) == 1 else f"Commands ({len(commands)})"
    return f"<details><summary>{name}</summary><pre tabindex='0'>{escape(shown + more)}</pre></details>"


def _clip(clip: Clip, budget: _Budget) -> str:
    caption = escape(clip_caption(clip), quote=True)
    how = _sources([str(clip.about["command"])] if clip.about.get("command") else [])
    if not budget.takes(clip):
        why = f"{escape(str(clip.file))}, {clip.size / 1e6:.1f} MB: too large to be embedded."
        return f"<figure><h3>{caption}</h3><figcaption>{why}</figcaption>{how}</figure>"
    data = base64.b64encode(clip.file.read_bytes()).decode()
    if clip.file.suffix == ".png":
        return f'<figure><h3>{caption}</h3><img src="data:image/png;base64,{data}" alt="{caption}">{how}</figure>'
    if clip.file.suffix == ".mp4":
        moving = f'<video controls muted loop src="data:video/mp4;base64,{data}" aria-label="{caption}"></video>'
    else:
        first = still(clip.file)
        if first is None:
            return f"<figure><h3>{caption}</h3><figcaption>damaged: it is not shown.</figcaption>{how}</figure>"
        frame = base64.b64encode(first).decode()
        moving = (
            f'<img src="data:image/png;base64,{frame}" data-moving="data:image/gif;base64,{data}" alt="{caption}">'
            '<button type="button" class="play" aria-pressed="false" hidden>Play</button>'
        )
    return f"<figure><h3>{caption}</h3>{moving}{how}</figure>"


def clip_caption(clip: Clip) -> str:
    about = clip.about
    if not about.get("env"):
        return clip.file.name
    if "picture" in about:
        return f"{about.get('method', 'agent')} on {about['env']}: {about['picture']}"
    attack = str(about.get("attack", "none"))
    under = (
        "without attack" if attack == "none" else f"under {attack_label(attack)}, eps {eps_text(about.get('eps', 0.0))}"
    )
    result = f": return {number(about['return'])} in {about.get('steps', '?')} steps" if "return" in about else ""
    return f"{about.get('method', 'agent')} on {about['env']} {under}{result}"


def _flags(contents: Contents) -> str:
    if not contents.flags:
        text = "<p>The self-checks of the audits found no problem.</p>"
    else:
        rows = "".join(
            f"<li><strong>{escape(flag.flag)}</strong> {escape(flag.agent)}: {escape(flag.text)}</li>"
            for flag in contents.flags
        )
        text = f"<p>Problems found by the self-checks of the audits: reasons to trust a number less.</p><ul>{rows}</ul>"
    return f'<section id="flags" class="flags"><h2>Flags</h2>{text}</section>'


def _asset(name: str) -> str:
    return files("wocar.report").joinpath(name).read_text(encoding="utf-8")
