"""Kinds of files that a resume reads, and that users send."""

import json
import sys
from pathlib import Path

from fuzzing.corpus import ROOT, Corpus, void


def add_states(corpus: Corpus) -> None:
    """What a resume reads, and files that users send: checkpoints, metrics, states, entries, radii, settings."""
    import jax

    from wocar import interop
    from wocar.agent import load_agent
    from wocar.evaluation.audit_file import AuditFolder
    from wocar.evaluation.sensors import Sensor, read_threat, template
    from wocar.hardening import Checked, read_state
    from wocar.report.leaderboard import read_leaderboard
    from wocar.reproduce.tasks import TaskFolder
    from wocar.training.run_folder import RunFolder

    np, agent, home = sys.modules["numpy"], load_agent(corpus.folder / "agent"), corpus.folder / "resumed"
    folder, state = RunFolder(home), {"step": jax.numpy.ones(3), "moment": np.ones((2, 4), "f4")}
    (home / "checkpoints").mkdir(parents=True)
    folder.save_checkpoint(1, agent, state, {"steps": 64, "late_returns": [1.0, 2.0]})
    kept = {path: path.read_bytes() for path in (home / "checkpoints" / "0000001").iterdir()}

    def resume(path: Path) -> None:
        import hashlib

        damaged_file = path.read_bytes()
        for file, data in kept.items():
            file.write_bytes(data if file != path else damaged_file)
        if path.suffix == ".safetensors":
            facts = json.loads(kept[path.with_name("learner.json")])
            facts["sha256"] = hashlib.sha256(damaged_file).hexdigest()
            path.with_name("learner.json").write_text(json.dumps(facts))
        folder._is_ours(path.parent)
        folder.load_checkpoint(state, ["steps"])

    def cut(path: Path) -> None:
        RunFolder(path.parent).cut_metrics(3)

    for name in ("learner.json", "learner.safetensors"):
        place = home / "checkpoints" / "0000001" / name
        corpus.add(f"checkpoint's {name}", str(place.relative_to(corpus.folder)), place.read_bytes(), resume)
    rows = b"".join(json.dumps({"iteration": i, "return": 1.5, "time": i}).encode() + b"\n" for i in range(6))
    corpus.add("metrics, resumed", "cut/metrics.jsonl", rows, cut)
    check = Checked(0, 1.0, 0.5, {"min-q": 0.5})._asdict()
    data = json.dumps({"checks": [check, check], "reached": False}).encode()
    corpus.add("state of a hardening", "state.json", data, lambda path: void(read_state(path)))
    key, parts = {"attack": "none", "eps": 0.1}, AuditFolder(corpus.folder / "parts")
    parts.write(key, {"mean": 1.0, "returns": [1.0, 2.0]})
    (cell,) = (corpus.folder / "parts").iterdir()
    corpus.add("part of an audit", f"parts/{cell.name}", cell.read_bytes(), lambda _: void(parts.read(key)))
    (entry, *_) = sorted((ROOT / "leaderboard").glob("*/*/*.json"))
    board, place = corpus.folder / "board", entry.relative_to(ROOT / "leaderboard")
    corpus.add("leaderboard", f"board/{place}", entry.read_bytes(), lambda _: void(read_leaderboard(board)))
    sensors = [Sensor(f"s{i}", -1.0, 1.0, 0.5, 0.1) for i in range(3)]
    radii = template("Toy-v0", sensors).encode()
    corpus.add("threat in units", "threat.toml", radii, lambda path: void(read_threat(path, agent.spec)))
    task = TaskFolder(corpus.folder / "task")
    corpus.add("done.json of a task", "task/done.json", b'{"seconds": 1.0, "host": "x"}', lambda _: void(task.done))
    hub = corpus.folder / "hub"
    hub.mkdir()
    (hub / "ppo-Toy-v0.zip").write_bytes((ROOT / "tests/interop/data/ppo-Toy-v0.zip").read_bytes())
    text = b"!!python/object/apply:collections.OrderedDict\n- - - env\n    - Toy-v0\n  - - frame_stack\n    - 4\n"
    settings = b"env: Toy-v0\nseed: 1\nframe_stack: 4\n" + text
    corpus.add("settings of a hub folder", "hub/config.yml", settings, lambda _: void(interop.load_all(hub, "Toy-v0")))
