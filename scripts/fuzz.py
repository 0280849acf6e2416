"""Fuzzer of everything that reads files: python scripts/fuzz.py [--minutes N | --files N] [--json results/fuzz.json]

Each file is an honest one of its kind, damaged by a rule that follows from seed and number. A reader may refuse it in
one line (UserError) or take it. Anything else counts as found: another exception, the death of the process, an event
of code run (a process, a socket, a file written outside the folder), more than 10 s, more than 1 GB of memory.
"""

import argparse
import contextlib
import importlib.util
import io
import json
import os
import queue
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SECONDS, MEMORY = 10, 1_000_000_000
START_SECONDS = 300.0
"""In which a worker must have begun: it imports JAX and reads every honest file first."""
EVENTS = {"os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "subprocess.Popen", "socket.connect"}
EVENTS |= {"pty.spawn", "os.startfile", "shutil.rmtree", "os.chmod", "os.symlink", "ctypes.dlopen", "webbrowser.open"}
ODD: list[Any] = [None, True, -1, 0, 2**62, 10**400, 1e308, -1e308, float("nan"), float("inf"), "", "x", "../../x"]
ODD += ["\x1b[2J\u202e\n=1+1<script>", "a" * 5000, [], {}, [[]], [None], {"": {}}, [1, "x"], [0.5] * 300, "os:system"]

Reader = Callable[[Path], None]


def module_of_tests(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(Path(name).stem, ROOT / "tests" / name)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


class Corpus:
    """Honest files by kind: the name that the file must have, its bytes, and the reader."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kinds: dict[str, tuple[str, bytes, Reader]] = {}
        self._agents()
        self._foreign()
        self._results()
        self._states()

    def add(self, kind: str, name: str, data: bytes, reader: Reader) -> None:
        self.kinds[kind] = name, data, reader

    def _agents(self) -> None:
        import jax

        from wocar.agent import Agent, load_agent
        from wocar.networks import GaussianPolicy, RunningNormaliser, ValueCritic
        from wocar.training.run_folder import load_config
        from wocar.types import ActionSpace, EnvSpec

        np = sys.modules["numpy"]
        spec = EnvSpec("Toy-v0", (3,), ActionSpace(2, -np.ones(2, np.float32), np.ones(2, np.float32)), 100)
        key, home = jax.random.key(0), self.folder / "agent"
        critics = {"value": ValueCritic.create(3, key, (4,))}
        meta = {"method": "ppo", "seed": 0, "steps": 64, "eps": 0.1, "threat": {"eps": 0.1, "norm": "linf"}}
        agent = Agent(spec, RunningNormaliser.create((3,)), GaussianPolicy.create(3, 2, key, (4,)), critics, meta)
        agent.save(home)

        def load(_: Path) -> None:
            from wocar.api import default_threat

            loaded = load_agent(home)
            loaded.predict(np.zeros(loaded.spec.obs_shape))
            default_threat(loaded)

        weights, text = ((home / name).read_bytes() for name in ("agent.safetensors", "agent.json"))

        def load_weights(path: Path) -> None:
            """With a checksum that fits, as a stranger would write it."""
            import hashlib

            (home / "agent.json").write_bytes(text)
            about = json.loads(text) | {"sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
            (home / "agent.json").write_text(json.dumps(about))
            try:
                load(path)
            finally:
                (home / "agent.json").write_bytes(text)

        def load_text(path: Path) -> None:
            (home / "agent.safetensors").write_bytes(weights)
            load(path)

        self.add("agent.json", "agent/agent.json", text, load_text)
        self.add("agent.safetensors", "agent/agent.safetensors", weights, load_weights)
        run = self.folder / "run"
        run.mkdir()
        from wocar.methods.presets import default_config
        from wocar.training.run_config import to_json

        config = {"config": to_json(default_config("wocar-ppo", "Hopper-v4", None)), "command": "wocar train"}
        self.add("run.json", "run/run.json", json.dumps(config).encode(), lambda _: load_config(run).check())

    def _foreign(self) -> None:
        from wocar import interop

        np, forge = sys.modules["numpy"], module_of_tests("interop/conftest.py")
        data = ROOT / "tests" / "interop" / "data"

        def load(path: Path) -> None:
            interop.load_all(path, "Toy-v0")

        for name in ("ppo-Toy-v0.zip", "dqn-Toy-v0.zip", "recurrent-Toy-v0.zip"):
            self.add(f"sb3 {name.split('-')[0]}", name, (data / name).read_bytes(), load)
        pickled = (data / "ppo-Toy-v0_vecnormalize.pkl").read_bytes()
        self.add(
            "vecnormalize.pkl",
            "statistics.pkl",
            pickled,
            lambda path: void(interop.load_all(data / "ppo-Toy-v0.zip", "Toy-v0", path)),
        )
        tree = forge.model_tree(np.random.default_rng(0), (11, 3))
        self.add("model, zip", "zip.model", forge.torch_zip(tree), load)
        self.add("model, stream", "stream.model", forge.torch_stream(tree), load)
        self._checkpoints(forge)
        armed = forge.torch_zip({**tree, "x": forge.Call("posix", "system", ("touch ran",))})
        self.add("model, armed", "armed.model", armed, load)

    def _checkpoints(self, forge: Any) -> None:
        """CleanRL's, and ONNX files as far as they become networks: others are run, which is not reading."""
        import jax

        from wocar import interop
        from wocar.agent import Agent
        from wocar.interop.onnx_graph import read_graph
        from wocar.interop.onnx_reader import NotSequentialError, white_box
        from wocar.interop.onnx_writer import onnx_file
        from wocar.interop.restricted import one_line_refusal
        from wocar.networks import GreedyPolicy, RunningNormaliser, mlp
        from wocar.types import ActionSpace, EnvSpec

        np, spec = sys.modules["numpy"], EnvSpec("Toy-v0", (4,), ActionSpace(3))
        sizes = {"network.0": (8, 4), "network.2": (8, 8), "network.4": (3, 8)}
        weights = {f"{name}.weight": np.ones(size, "f4") for name, size in sizes.items()}
        weights |= {f"{name}.bias": np.ones(size[0], "f4") for name, size in sizes.items()}

        def load(path: Path) -> None:
            interop.load_all(path, "Toy-v0", None, lambda id: spec)

        def network(path: Path) -> None:
            with contextlib.suppress(NotSequentialError):
                with one_line_refusal("x"):
                    graph = read_graph(path.read_bytes())
                white_box(graph, "x", spec, {})

        for kind in ("zip", "stream"):
            self.add(f"cleanrl, {kind}", f"{kind}.pt", getattr(forge, f"torch_{kind}")(weights), load)
        if importlib.util.find_spec("onnx"):
            statistics = RunningNormaliser(np.ones(4), np.ones(4), 9.0)
            agent = Agent(spec, statistics, GreedyPolicy(mlp([4, 8, 3], jax.random.key(0))))
            self.add("onnx", "x.onnx", onnx_file(agent), network)

    def _results(self) -> None:
        conftest = module_of_tests("report/conftest.py")
        beside, drawn = self.folder / "beside", self.folder / "results"
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
        done = self.folder / "tasks" / "x"
        done.mkdir(parents=True)
        (done / "done.json").write_text("{}")
        (done / "audit.json").write_bytes((beside / "a.json").read_bytes())
        shown = lambda path: show_report(drawn, path)  # noqa: E731
        self.add("audit", "results/audit.json", (beside / "a.json").read_bytes(), shown)
        self.add("estimate", "results/estimate.json", json.dumps(estimate).encode(), shown)
        self.add("chart", "results/chart.json", json.dumps({"chart": {**chart, "series": series}}).encode(), shown)
        self.add("plan", "results/plan.json", json.dumps({"reproduce": plan}).encode(), shown)
        (drawn / "run").mkdir()
        for name in ("run.json", "metrics.jsonl"):
            data = (beside / "run" / name).read_bytes()
            (drawn / "run" / name).write_bytes(data)
            self.add(f"report of {name}", f"results/run/{name}", data, shown)
        self.add("gif", "results/clip.gif", picture(), shown)

    def _states(self) -> None:
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

        np, agent, home = sys.modules["numpy"], load_agent(self.folder / "agent"), self.folder / "resumed"
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
            self.add(f"checkpoint's {name}", str(place.relative_to(self.folder)), place.read_bytes(), resume)
        rows = b"".join(json.dumps({"iteration": i, "return": 1.5, "time": i}).encode() + b"\n" for i in range(6))
        self.add("metrics, resumed", "cut/metrics.jsonl", rows, cut)
        check = Checked(0, 1.0, 0.5, {"min-q": 0.5})._asdict()
        data = json.dumps({"checks": [check, check], "reached": False}).encode()
        self.add("state of a hardening", "state.json", data, lambda path: void(read_state(path)))
        key, parts = {"attack": "none", "eps": 0.1}, AuditFolder(self.folder / "parts")
        parts.write(key, {"mean": 1.0, "returns": [1.0, 2.0]})
        (cell,) = (self.folder / "parts").iterdir()
        self.add("part of an audit", f"parts/{cell.name}", cell.read_bytes(), lambda _: void(parts.read(key)))
        (entry, *_) = sorted((ROOT / "leaderboard").glob("*/*/*.json"))
        board, place = self.folder / "board", entry.relative_to(ROOT / "leaderboard")
        self.add("leaderboard", f"board/{place}", entry.read_bytes(), lambda _: void(read_leaderboard(board)))
        sensors = [Sensor(f"s{i}", -1.0, 1.0, 0.5, 0.1) for i in range(3)]
        radii = template("Toy-v0", sensors).encode()
        self.add("threat in units", "threat.toml", radii, lambda path: void(read_threat(path, agent.spec)))
        task = TaskFolder(self.folder / "task")
        self.add("done.json of a task", "task/done.json", b'{"seconds": 1.0, "host": "x"}', lambda _: void(task.done))
        hub = self.folder / "hub"
        hub.mkdir()
        (hub / "ppo-Toy-v0.zip").write_bytes((ROOT / "tests/interop/data/ppo-Toy-v0.zip").read_bytes())
        text = b"!!python/object/apply:collections.OrderedDict\n- - - env\n    - Toy-v0\n  - - frame_stack\n    - 4\n"
        settings = b"env: Toy-v0\nseed: 1\nframe_stack: 4\n" + text
        self.add(
            "settings of a hub folder", "hub/config.yml", settings, lambda _: void(interop.load_all(hub, "Toy-v0"))
        )

    def read(self, kind: str, data: bytes) -> None:
        """Put the damaged file in place, read it, and put the honest one back."""
        name, honest, reader = self.kinds[kind]
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        try:
            reader(path)
        finally:
            path.unlink(missing_ok=True)
            if path.parent.name in ("agent", "run"):
                path.write_bytes(honest)


def void(_: Any) -> None:
    """Nothing: what was read does not matter."""


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


def damaged(data: bytes, rng: Any) -> bytes:
    """By structure where it is JSON, else, and sometimes then too, by bytes."""
    if data[:1] == b"{" and rng.random() < 0.8:
        lines = data.splitlines()
        at = int(rng.integers(len(lines))) if len(lines) > 1 and len(lines[0]) < 500 else 0
        try:
            tree = json.loads(lines[at]) if len(lines) > 1 and len(lines[0]) < 500 else json.loads(data)
        except ValueError:
            return damaged_bytes(data, rng)
        for _ in range(int(rng.integers(1, 3))):
            tree = damaged_tree(tree, rng)
        text = json.dumps(tree).encode()
        return b"\n".join([*lines[:at], text, *lines[at + 1 :]]) if len(lines) > 1 and len(lines[0]) < 500 else text
    return damaged_bytes(data, rng)


def damaged_tree(tree: Any, rng: Any) -> Any:
    """One entry, anywhere in it, replaced, left out, or put under another name."""
    if isinstance(tree, dict | list) and tree and rng.random() < 0.85:
        keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
        key = keys[int(rng.integers(len(keys)))]
        how = rng.random()
        if how < 0.1:
            del tree[key]
        elif how < 0.15 and isinstance(tree, dict):
            tree[str(ODD[int(rng.integers(len(ODD)))])[:50]] = tree.pop(key)
        else:
            tree[key] = damaged_tree(tree[key], rng)
        return tree
    odd = ODD[int(rng.integers(len(ODD)))]
    return json.loads(json.dumps(odd)) if rng.random() < 0.97 else deep(300)


def deep(levels: int) -> Any:
    tree: Any = 0
    for _ in range(levels):
        tree = [tree]
    return tree


def damaged_bytes(data: bytes, rng: Any) -> bytes:
    out = bytearray(data)
    for _ in range(int(rng.integers(1, 6))):
        at, how = int(rng.integers(len(out) or 1)), int(rng.integers(7))
        size = int(rng.integers(1, 17))
        if how == 0 and out:
            out[min(at, len(out) - 1)] ^= 1 << int(rng.integers(8))
        elif how == 1:
            out[at : at + size] = rng.bytes(size)
        elif how == 2:
            del out[at : at + size]
        elif how == 3:
            out[at:at] = rng.bytes(size)
        elif how == 4:
            out[at : at + 4] = (2 ** int(rng.integers(33)) - 1).to_bytes(5, "little")[:4]
        elif how == 5:
            other = int(rng.integers(len(out) or 1))
            out[at:at] = out[other : other + 4 * size]
        elif rng.random() < 0.3:
            del out[at:]
    return bytes(out)


class Watch:
    """What a reader does beside reading: events of code run, time and memory."""

    def __init__(self, folder: Path) -> None:
        self.inside, self.live, self.events = str(folder), False, []
        self.base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        sys.addaudithook(self.hook)
        signal.signal(signal.SIGALRM, self.alarm)
        limit = virtual_memory() + 3 * MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    def hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.live:
            return
        if event in EVENTS:
            self.events.append(event)
        if event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+"):
            path = str(arguments[0])
            if not path.startswith((self.inside, "/dev/")):
                self.events.append(f"writes {path}")

    def alarm(self, *_: Any) -> None:
        raise TimeoutError

    def outcome(self, read: Callable[[], None]) -> str:
        """taken, refused, or what was found."""
        from wocar.types import UserError

        word, start = "taken", time.monotonic()
        self.live = True
        signal.alarm(SECONDS)
        try:
            read()
        except UserError:
            word = "refused"
        except TimeoutError:
            word = "slow"
        except Exception as error:
            word = f"uncaught {type(error).__name__}: {' '.join(str(error).split())[:150]}"
        finally:
            signal.alarm(0)
            self.live = False
        if self.events:
            word = f"ran {self.events[0]}"
            self.events.clear()
        if (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - self.base) * 1024 > MEMORY:
            word = "large"
        return "slow" if time.monotonic() - start > SECONDS else word


def work(seed: int, first: int, folder: Path) -> None:
    """Read damaged files one after the other; a line before and after each."""
    import numpy as np

    corpus = Corpus(folder)
    kinds = list(corpus.kinds)
    for kind in kinds:  # honest files are taken, and what is imported late is imported
        if "armed" not in kind:
            corpus.read(kind, corpus.kinds[kind][1])
    watch = Watch(folder)
    for number in range(first, 10**12):
        rng = np.random.default_rng([seed, number])
        kind = kinds[number % len(kinds)]
        data = damaged(corpus.kinds[kind][1], rng)
        print(json.dumps({"number": number, "kind": kind}), flush=True)
        start = time.monotonic()
        outcome = watch.outcome(lambda kind=kind, data=data: corpus.read(kind, data))
        print(json.dumps({"outcome": outcome, "seconds": round(time.monotonic() - start, 4)}), flush=True)
        if outcome == "large":
            return


def virtual_memory() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def supervise(seed: int, files: int, seconds: float, on_progress: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Run workers one after the other until enough is read; one that dies is replaced and its file is recorded."""
    until, number = time.monotonic() + seconds, 0
    counts: dict[str, dict[str, int]] = {}
    found: list[dict[str, Any]] = []
    slowest, start = 0.0, time.monotonic()

    def report() -> dict[str, Any]:
        about = {"seed": seed, "files": sum(sum(row.values()) for row in counts.values())}
        about |= {"minutes": round((time.monotonic() - start) / 60, 2), "slowest_seconds": slowest}
        return {**about, "found": found[:200], "kinds": dict(sorted(counts.items()))}

    while number < files and time.monotonic() < until:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, __file__, "--worker", str(seed), str(number), folder]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            assert process.stdout is not None
            begun: dict[str, Any] | None = None
            patience = START_SECONDS
            lines: queue.Queue[str] = queue.Queue()
            threading.Thread(target=_forward, args=(process.stdout, lines), daemon=True).start()
            while number < files and time.monotonic() < until:
                line = _next(lines, patience)
                if not line:
                    break
                told, patience = json.loads(line), 2.0 * SECONDS
                if "number" in told:
                    begun = told
                    continue
                assert begun is not None
                number, slowest = begun["number"] + 1, max(slowest, told["seconds"])
                word = told["outcome"].split()[0]
                row = counts.setdefault(begun["kind"], {"taken": 0, "refused": 0})
                row[word] = row.get(word, 0) + 1
                if word not in ("taken", "refused"):
                    found.append({**begun, "outcome": told["outcome"]})
                begun = None
                if number % 500 == 0:
                    on_progress(report())
            if begun is None and process.poll():
                raise SystemExit("the worker cannot start: an honest file is refused")
            process.kill()
            process.wait()
            if begun is not None and number < files and time.monotonic() < until:
                found.append({**begun, "outcome": "the process died or hung"})
                counts.setdefault(begun["kind"], {"taken": 0, "refused": 0})["died"] = 1
                number = begun["number"] + 1
    return report()


def _forward(stream: Any, lines: "queue.Queue[str]") -> None:
    for line in stream:
        lines.put(line)
    lines.put("")


def _next(lines: "queue.Queue[str]", seconds: float) -> str:
    """The next line; empty where none comes in time, or the worker has ended."""
    try:
        return lines.get(timeout=seconds)
    except queue.Empty:
        return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--files", type=int, default=10**9)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--worker", nargs=3, metavar=("SEED", "FIRST", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        seed, first, folder = options.worker
        work(int(seed), int(first), Path(folder))
        return 0

    def keep(result: dict[str, Any]) -> None:
        if options.json:
            options.json.write_text(json.dumps(result, indent=1) + "\n")

    result = supervise(options.seed, options.files, 60 * options.minutes, keep)
    keep(result)
    print(json.dumps({name: value for name, value in result.items() if name != "found"}, indent=1))
    for item in result["found"][:20]:
        print(item)
    return 1 if result["found"] else 0


if __name__ == "__main__":
    sys.exit(main())
