"""What a report says, before it is drawn: tables, charts, recordings and flags, task by task."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from wocar.report.charts import PAPER, ablation_charts, eps_charts, natural_worst_chart, training_chart
from wocar.report.clips import Clip, read_clip
from wocar.report.comparisons import improvement_table, profile_chart, statistics_table
from wocar.report.estimates import estimates_chart, estimates_table
from wocar.report.groups import Group, Radius, environments, grouped
from wocar.report.model import Chart, Published, Table
from wocar.report.sources import Sources
from wocar.report.svg import COLOURS
from wocar.report.tables import main_radius, median_agents_table, results_table, runs_table


class Flag(NamedTuple):
    """An audit's accusation against itself."""

    agent: str
    flag: str
    text: str


@dataclass
class Section:
    """`aside` are tables and charts that are folded away."""

    title: str
    about: str = ""
    tables: list[Table] = field(default_factory=list)
    charts: list[Chart] = field(default_factory=list)
    aside: list[Table | Chart] = field(default_factory=list)
    clips: list[Clip] = field(default_factory=list)


@dataclass
class Contents:
    sections: list[Section]
    flags: list[Flag]
    runs: Table
    notes: list[str]
    counts: dict[str, int]

    @property
    def tables(self) -> list[Table]:
        aside = [item for section in self.sections for item in section.aside if isinstance(item, Table)]
        return [table for section in self.sections for table in section.tables] + aside + [self.runs]

    @property
    def charts(self) -> list[Chart]:
        aside = [item for section in self.sections for item in section.aside if isinstance(item, Chart)]
        return [chart for section in self.sections for chart in section.charts] + aside

    def styles(self, chart: Chart) -> dict[str, int]:
        """A style for each label of a chart: the same in all charts, unless two of one chart would look alike.

        The paper's numbers of a method have its style.
        """
        everywhere = {label.removesuffix(PAPER): 0 for c in self.charts for label in c.labels}
        order = {name: i for i, name in enumerate(everywhere)}
        chosen: dict[str, int] = {}
        for name in dict.fromkeys(label.removesuffix(PAPER) for label in chart.labels):
            taken = {style % COLOURS for style in chosen.values()}
            free = [style for style in range(order[name], order[name] + COLOURS) if style % COLOURS not in taken]
            chosen[name] = free[0] if free else order[name]
        return {label: chosen[label.removesuffix(PAPER)] for label in chart.labels}


def contents(sources: Sources, published: Sequence[Published]) -> Contents:
    groups = grouped(sources)
    clips = [read_clip(file) for file in sources.clips]
    envs = list(dict.fromkeys([*environments(groups), *(clip.env for clip in clips if clip.env)]))
    radii: dict[str, Radius | None] = {}
    sections = []
    for env in envs:
        here = [group for group in groups if group.env == env]
        at = main_radius(here, published) if here else []
        radii[env] = at[0] if at else None
        sections.append(_task(env, here, at, published, [clip for clip in clips if clip.env == env]))
    sections += _over_tasks(groups, radii)
    sections += _estimates(groups)
    others = [clip for clip in clips if not clip.env]
    if sources.charts or others:
        sections.append(Section("More", charts=sources.charts, clips=others))
    attackers = [run for run in sources.runs if run.config.get("attack")]
    counts = {"runs": len(sources.runs), "audits": len(sources.audits), "estimates": len(sources.estimates)}
    counts |= {"recordings": len(clips), "tasks": len(envs), "methods": len({group.label for group in groups})}
    return Contents(sections, _flags(groups), runs_table(groups, attackers), sources.notes, counts)


def _task(
    env: str, groups: Sequence[Group], radii: Sequence[Radius], published: Sequence[Published], clips: list[Clip]
) -> Section:
    section = Section(env, clips=clips)
    audited = [g for g in groups if any(m.audits for m in g.members)]
    first = radii[0] if radii else None
    if audited:
        section.tables.append(results_table(audited, first, published))
        if any(len(g.values("worst", first)) > 1 for g in audited):
            section.aside.append(median_agents_table(audited, first, published))
        section.aside += [results_table(audited, radius, published) for radius in radii[1:]]
    if first:
        section.charts.append(natural_worst_chart(audited, first, published))
    training = training_chart(groups)
    section.charts += [training] if training else []
    sweeps = eps_charts(audited, published) if audited else []
    section.charts += sweeps[:1]
    section.aside += sweeps[1:]
    section.charts += ablation_charts(audited, first, published) if first else []
    return section


def _over_tasks(groups: Sequence[Group], radii: dict[str, Radius | None]) -> list[Section]:
    """Statistics, where there is more than one run to take them of."""
    audited = [g for g in groups if g.values("worst", radii[g.env])]
    if sum(len(g.members) for g in audited) < 2 or len({g.label for g in audited}) < 2:
        return []
    table = statistics_table(audited, radii)
    if not table.rows:
        return []
    tables = [table] + ([improvement_table(audited, radii)] if len(table.rows) > 1 else [])
    return [Section("Over seeds and tasks", tables=tables, charts=[profile_chart(audited, radii)])]


def _estimates(groups: Sequence[Group]) -> list[Section]:
    table = estimates_table(groups)
    if not table.rows:
        return []
    charts = [estimates_chart([g for g in groups if g.env == env]) for env in environments(groups)]
    return [Section("Estimates against attacks", tables=[table], charts=[chart for chart in charts if chart.series])]


def _flags(groups: Sequence[Group]) -> list[Flag]:
    """Every flag once for each agent."""
    found = [
        Flag(f"{g.label}, {g.env}, seed {m.seed}", str(flag["flag"]), str(flag["text"]))
        for g in groups
        for m in g.members
        for audit in m.audits
        for flag in audit.data.get("flags", [])
    ]
    return list(dict.fromkeys(found))


def title_of(paths: Sequence[Path]) -> str:
    names = [path.resolve().name for path in paths]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
