"""Kinds of files that a report shows."""

import io
import json
from pathlib import Path

from fuzzing.corpus import Corpus, module_of_tests


def add_results(corpus: Corpus) -> None:
    conftest = module_of_tests("report/conftest.py")
    beside, drawn = corpus.folder / "beside", corpus.folder / "results"
    beside.mkdir()
    drawn.mkdir()
    conftest.write_audit(beside / "a.json", "Hopper-v4", "ppo", 0, (0.075, 0.05), 3000.0, suite={"name": "fast-v2"})
    conftest.write_run(beside / "run", "Hopper-v4", "ppo", 0, 6)
    numbers = [{"eps": eps, "value": 1.0, "start": {"achieved": 2.0}} for eps in (0.0, 0.075)]
    estimate = {"env": "Hopper-v4", "meta": {"method": "ppo", "seed": 0}, "radii": numbers, "natural_measured": 3.0}
    series = [{"label": "a", "x": [0, 1], "y": [1.0, None], "low": [0.5, None], "high": [2.0, None]}]
    chart = {"name": "c", "title": "t", "about": "", "x": "x", "y": "y", "kind": "lines", "sources": ["wocar x"]}
    plan = {"target": "table-1", "scale": "smoke", "about": "a", "command": "c", "labels": ["tab:1"]}
    row = {"method": "ppo", "env": "Hopper-v4", "variant": ""}
    plan |= {"tasks": [{"folder": "../tasks/x", "kind": "train", "title": "t", "row": row}]}
    plan |= {"missing": [{**row, "why": "not yet"}]}
    done = corpus.folder / "tasks" / "x"
    done.mkdir(parents=True)
    (done / "done.json").write_text("{}")
    (done / "audit.json").write_bytes((beside / "a.json").read_bytes())
    shown = lambda path: show_report(drawn, path)  # noqa: E731
    corpus.add("audit", "results/audit.json", (beside / "a.json").read_bytes(), shown)
    corpus.add("estimate", "results/estimate.json", json.dumps(estimate).encode(), shown)
    corpus.add("chart", "results/chart.json", json.dumps({"chart": {**chart, "series": series}}).encode(), shown)
    corpus.add("plan", "results/plan.json", json.dumps({"reproduce": plan}).encode(), shown)
    (drawn / "run").mkdir()
    for name in ("run.json", "metrics.jsonl"):
        data = (beside / "run" / name).read_bytes()
        (drawn / "run" / name).write_bytes(data)
        corpus.add(f"report of {name}", f"results/run/{name}", data, shown)
    corpus.add("gif", "results/clip.gif", picture(), shown)


def show_report(folder: Path, path: Path) -> None:
    from wocar.report.contents import contents
    from wocar.report.formats import chart_csv, csv_text, latex, markdown
    from wocar.report.page import page
    from wocar.report.sources import collect
    from wocar.reproduce.paper_numbers import published

    found = contents(collect([folder if path.name != "plan.json" else path.parent]), published())
    page(found, "title", "command")
    for table in found.tables:
        markdown(table), csv_text(table), latex(table)
    for chart in found.charts:
        chart_csv(chart)


def picture() -> bytes:
    from PIL import Image

    frames = [Image.new("P", (24, 16), colour) for colour in (1, 2)]
    about = {"env": "Hopper-v4", "method": "PPO", "attack": "maxdiff", "eps": 0.1, "return": 1.0, "steps": 5}
    out = io.BytesIO()
    frames[0].save(out, "GIF", save_all=True, append_images=frames[1:], comment=json.dumps(about).encode())
    return out.getvalue()
