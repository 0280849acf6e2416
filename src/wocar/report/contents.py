"""Contents of a report: tables, charts, recordings and flags, by task."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from wocar.report.charts import PAPER, REPORTED, ablation_charts, eps_charts, natural_worst_chart, training_chart
from wocar.report.checkpoint_charts import checkpoint_charts, worst_value_chart
from wocar.report.clips import Clip, read_clip
from wocar.report.comparisons import improvement_table, profile_chart, statistics_table
from wocar.report.efficiency import efficiency_table
from wocar.report.estimates import estimates_chart, estimates_table
from wocar.report.groups import Group, environments, grouped, method_label
from wocar.report.headline import HeadlineRow, headline_rows
from wocar.report.labels import radius_text
from wocar.report.matrix import matrix_table, rows_of_groups
from wocar.report.model import Chart, PaperNumber, Table
from wocar.report.moved import MovedBars, moved_bars
from wocar.report.radius import Radius
from wocar.report.sources import ReproducePlan, Sources
from wocar.report.strips import Strip, strips
from wocar.report.svg import COLOURS
from wocar.report.tables import main_radius, median_agents_table, results_table, runs_table

TOGETHER = {"fig-ablation-importance", "fig-ablation-reg"}
"""Plans whose figure compares variants of several methods in one chart."""
EVIDENCE = "evidence"
"""The plan whose page begins with the matrix of its rows."""
SWEEPS = 4
"""Charts against eps that are shown at once; the others are folded away."""


class ReportFlag(NamedTuple):
    """A problem that an audit found in itself."""

    agent: str
    flag: str
    text: str


@dataclass
class Section:
    """Part of the page; tables and charts in `aside` are folded away."""

    title: str
    about: str = ""
    tables: list[Table] = field(default_factory=list)
    charts: list[Chart] = field(default_factory=list)
    aside: list[Table | Chart] = field(default_factory=list)
    clips: list[Clip] = field(default_factory=list)
    headline: list[HeadlineRow] = field(default_factory=list)
    radius: str = ""
    """Of the headline."""
    strips: list[Strip] = field(default_factory=list)
    moved: list[MovedBars] = field(default_factory=list)


@dataclass
class Contents:
    sections: list[Section]
    flags: list[ReportFlag]
    runs: Table
    notes: list[str]
    counts: dict[str, int]
    plans: list[ReproducePlan] = field(default_factory=list)

    @property
    def tables(self) -> list[Table]:
        aside = [item for section in self.sections for item in section.aside if isinstance(item, Table)]
        return [table for section in self.sections for table in section.tables] + aside + [self.runs]

    @property
    def charts(self) -> list[Chart]:
        aside = [item for section in self.sections for item in section.aside if isinstance(item, Chart)]
        return [chart for section in self.sections for chart in section.charts] + aside

    def styles(self, chart: Chart) -> dict[str, int]:
        """A style for each label of a chart: the same in all charts, unless two labels of this one would share it.

        The paper's numbers of a method have the method's style, reported numbers of an agent the agent's.
        """

        def owner(label: str) -> str:
            return label.removesuffix(PAPER).removesuffix(REPORTED)

        everywhere = {owner(label): 0 for c in self.charts for label in c.labels}
        order = {name: i for i, name in enumerate(everywhere)}
        chosen: dict[str, int] = {}
        for name in dict.fromkeys(map(owner, chart.labels)):
            taken = {style % COLOURS for style in chosen.values()}
            free = [style for style in range(order[name], order[name] + COLOURS) if style % COLOURS not in taken]
            chosen[name] = free[0] if free else order[name]
        return {label: chosen[owner(label)] for label in chart.labels}


def contents(sources: Sources, published: Sequence[PaperNumber]) -> Contents:
    """The report of all sources; a plan is compared with the paper's numbers of its own tables and figures."""
    groups = grouped(sources)
    labels = {label for plan in sources.plans for label in plan.labels}
    published = [p for p in published if not labels or p.label in labels]
    clips = [read_clip(file) for file in sources.clips]
    envs = list(dict.fromkeys([*environments(groups), *(clip.env for clip in clips if clip.env)]))
    radii: dict[str, Radius | None] = {}
    sections = []
    missing = [row for plan in sources.plans for row in plan.missing]
    targets = {plan.target for plan in sources.plans}
    envs += [env for env in dict.fromkeys(row["env"] for row in missing) if env not in envs]
    for env in envs:
        here = [group for group in groups if group.env == env]
        at = main_radius(here, published) if here else []
        radii[env] = at[0] if at else None
        absent = [row for row in missing if row["env"] == env]
        section = _task(env, here, at, published, absent, bool(targets & TOGETHER))
        section.clips = [clip for clip in clips if clip.env == env]
        sections.append(section)
    sections += _over_tasks(groups, radii)
    sections[:0] = _matrices(groups, sources.plans)
    sections += _estimates(groups)
    efficiency = efficiency_table(groups, published)
    if efficiency.rows:
        sections.insert(0 if targets == {"table-efficiency"} else len(sections), Section("Time", tables=[efficiency]))
    others = [clip for clip in clips if not clip.env]
    if sources.charts or others:
        sections.append(Section("More", charts=sources.charts, clips=others))
    attackers = [run for run in sources.runs if run.config.get("attack")]
    counts = {"runs": len(sources.runs), "audits": len(sources.audits), "estimates": len(sources.estimates)}
    counts |= {"recordings": len(clips), "tasks": len(envs), "methods": len({group.label for group in groups})}
    for section in sections:
        _mark_scale(section, sources.plans)
    return Contents(sections, _flags(groups), runs_table(groups, attackers), sources.notes, counts, sources.plans)


def _mark_scale(section: Section, plans: Sequence[ReproducePlan]) -> None:
    """Name the scale in every figure and table of a reproduction that is smaller than the paper's."""
    scales = {plan.scale: plan.about for plan in plans if plan.scale != "paper"}
    if not scales:
        return
    note = " ".join(f"Scale {name}: {about}." for name, about in scales.items())
    title = f" ({', '.join(scales)})"
    section.charts = [replace(c, title=c.title + title, about=f"{c.about} {note}") for c in section.charts]
    section.tables = [replace(t, title=t.title + title, about=f"{t.about} {note}") for t in section.tables]


def _task(
    env: str,
    groups: Sequence[Group],
    radii: Sequence[Radius],
    published: Sequence[PaperNumber],
    missing: Sequence[dict[str, str]],
    together: bool,
) -> Section:
    """The section of one environment; `together`: one figure compares the variants of all methods."""
    section = Section(env)
    if missing:
        reasons = "; ".join(f"{method_label(row['method'], row['variant'])}: {row['why']}" for row in missing)
        section.about = f"Left out: {reasons}."
    audited = [g for g in groups if any(m.audits for m in g.members)]
    first = radii[0] if radii else None
    if audited:
        section.tables.append(results_table(audited, first, published, missing))
        if any(len(g.values("worst", first)) > 1 for g in audited):
            section.aside.append(median_agents_table(audited, first, published))
        section.aside += [results_table(audited, radius, published) for radius in radii[1:]]
    if first:
        section.headline, section.radius = headline_rows(audited, first), radius_text(first)
        section.strips, section.moved = strips(audited, first), moved_bars(audited, first)
        section.charts.append(natural_worst_chart(audited, first, published))
    section.charts += ablation_charts(audited, first, published, together) if first else []
    sweeps = eps_charts(audited, published) if audited else []
    checkpoints = checkpoint_charts(groups)
    training, worst_value = training_chart(groups), worst_value_chart(groups)
    section.charts += [chart for chart in (worst_value, *checkpoints, *sweeps[:SWEEPS], training) if chart]
    section.aside += sweeps[SWEEPS:]
    return section


def _over_tasks(groups: Sequence[Group], radii: dict[str, Radius | None]) -> list[Section]:
    """Statistics over seeds and tasks, where several methods were audited."""
    audited = [g for g in groups if g.values("worst", radii[g.env])]
    if sum(len(g.members) for g in audited) < 2 or len({g.label for g in audited}) < 2:
        return []
    table = statistics_table(audited, radii)
    if not table.rows:
        return []
    tables = [table] + ([improvement_table(audited, radii)] if len(table.rows) > 1 else [])
    return [Section("Over seeds and tasks", tables=tables, charts=[profile_chart(audited, radii)])]


def _matrices(groups: Sequence[Group], plans: Sequence[ReproducePlan]) -> list[Section]:
    """Of plans of the evidence: which rows are done, beside those that are asked for."""
    asked = {key: seeds for plan in plans if plan.target == EVIDENCE for key, seeds in plan.asked.items()}
    return [Section("Matrix", tables=[matrix_table(rows_of_groups(groups, asked))])] if asked else []


def _estimates(groups: Sequence[Group]) -> list[Section]:
    table = estimates_table(groups)
    if not table.rows:
        return []
    charts = [estimates_chart([g for g in groups if g.env == env]) for env in environments(groups)]
    return [Section("Estimates against attacks", tables=[table], charts=[chart for chart in charts if chart.series])]


def _flags(groups: Sequence[Group]) -> list[ReportFlag]:
    """The flags of all audits and estimates, each once per agent."""
    found = [
        ReportFlag(f"{g.label}, {g.env}, seed {m.seed}", str(flag["flag"]), str(flag["text"]))
        for g in groups
        for m in g.members
        for result in (*m.audits, *m.estimates)
        for flag in result.data.get("flags", [])
    ]
    return list(dict.fromkeys(found))


def title_of(paths: Sequence[Path]) -> str:
    names = [path.resolve().name for path in paths]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
