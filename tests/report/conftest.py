"""A folder of results as the commands write them, and a real browser driven through its debugging pipe."""

import base64
import fcntl
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

ATTACKS = ("none", "random", "maxdiff", "robust-sarsa")
HARM = {
    "ppo": (1.0, 0.7, 0.45, 0.25),
    "sa-ppo": (0.95, 0.9, 0.7, 0.4),
    "wocar-ppo": (0.97, 0.96, 0.93, 0.85),
}


def row(mean: float, attack: str, eps: float) -> dict[str, Any]:
    """As one row of an audit is written."""
    family = {"none": "natural", "random": "random"}.get(attack, "gradient")
    return {
        "mean": mean,
        "std": 40.0,
        "interval": [mean - 12.0, mean + 11.0],
        "episodes": 50,
        "returns": [mean + 40 * (-1) ** k for k in range(50)],
        "mean_discounted": mean / 12,
        "seed": 1234,
        "eps": 0.0 if attack == "none" else eps,
        "family": family,
        "select": {"mean": mean + 5, "std": 40.0, "episodes": 25, "seed": 501234},
        **({} if attack == "none" else {"moved": {"mean": [-0.5, 0.1, 0.25], "size": [0.5, 0.9, 0.75]}}),
    }


def write_audit(
    file: Path, env: str, method: str, seed: int, radii: tuple[float, ...], scale: float, agent: str = "", **more: Any
) -> None:
    curve = []
    for eps in radii:
        shares = [1 - (1 - share) * eps / radii[0] for share in HARM[method]]
        means = [round(scale * share + 7 * seed, 6) for share in shares]
        rows = {attack: row(mean, attack, eps) for attack, mean in zip(ATTACKS, means, strict=True)}
        curve.append({"eps": eps, "worst": min(rows, key=lambda a: rows[a]["mean"]), "attacks": rows})
    data = {
        "agent": agent or f"runs/{file.stem}",
        "env": env,
        "meta": {"method": method, "seed": seed, "steps": 2_000_896},
        "agent_sha256": f"{file.stem}",
        "norm": "linf",
        "dimensions": ["height", "angle", "speed"],
        "attacks": curve[0]["attacks"],
        "worst": curve[0]["worst"],
        **({"curve": curve} if len(curve) > 1 else {}),
        "skipped": {},
        "flags": [],
        "command": f"wocar audit runs/{file.stem} --json {file.name}",
        "versions": {"python": "3.11.7", "wocar": "0.1.0"},
    }
    data |= more
    file.write_text(json.dumps(data))


def write_run(folder: Path, env: str, method: str, seed: int, points: int = 40, **settings: Any) -> None:
    folder.mkdir(parents=True)
    config = {"method": method, "env": env, "seed": seed, "steps": 2_000_000, "out": str(folder)}
    config |= {"algorithm": {"kind": "ppo", "gamma": 0.99}, "robust": {"importance": True, **settings}}
    options = " ".join(f"--{key} {value}" for key, value in settings.items())
    data = {"config": config, "command": f"wocar train {method} --env {env} --seed {seed} {options}".strip()}
    (folder / "run.json").write_text(json.dumps({**data, "versions": {"wocar": "0.1.0"}}))
    lines = [
        {"steps": 2_000_000 * (i + 1) // points, "time": 60.0 * i, "return": 80.0 * i + seed} for i in range(points)
    ]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tasks, three methods, three seeds; on Hopper trained here, several radii, a variant and flags."""
    folder = tmp_path_factory.mktemp("results")
    flag = {"flag": "few-episodes", "attack": "none", "eps": 0.0, "text": "5 episodes; fewer than 20 say little"}
    unused = {"flag": "budget-unused", "attack": "maxdiff", "eps": 0.075, "text": "maxdiff moves little"}
    for env, radii, scale in (("Hopper-v4", (0.075, 0.05, 0.1), 3500.0), ("Walker2d-v4", (0.05,), 4300.0)):
        for method in HARM:
            for seed in range(3):
                name = f"{method}-{env}-s{seed}"
                flags = [flag, unused] if (env, method, seed) == ("Hopper-v4", "ppo", 0) else []
                write_audit(folder / f"{name}.json", env, method, seed, radii, scale, flags=flags)
                if env == "Hopper-v4":
                    write_run(folder / name, env, method, seed)
    write_run(folder / "no-importance-s0", "Hopper-v4", "wocar-ppo", 0, importance=False)
    write_audit(folder / "no-importance-s0.json", "Hopper-v4", "wocar-ppo", 0, (0.075,), 3000.0)
    (folder / "wocar-ppo-Hopper-v4-s0" / "calibration.json").write_text(
        json.dumps({"eps": 0.075, "start_estimate": 200.0, "start_achieved": 230.0})
    )
    return folder


WIRED = "import os, sys; [os.dup2(int(sys.argv[k]), k + 2) for k in (1, 2)]; os.execv(sys.argv[3], sys.argv[3:])"
"""Starts a program with two given file descriptors as 3 and 4, those of the protocol."""


class Browser:
    """A headless Chromium spoken to in its DevTools protocol over two pipes."""

    def __init__(self, program: str, profile: Path) -> None:
        to_read, to_write = os.pipe()
        from_read, from_write = os.pipe()
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_read, from_write)]
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run"]
        flags += [
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--disable-background-networking",
            f"--user-data-dir={profile}",
        ]
        self.process = subprocess.Popen(
            [sys.executable, "-c", WIRED, *map(str, ends), program, *flags],
            pass_fds=ends,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for end in (to_read, from_write, *ends):
            os.close(end)
        self._in, self._out, self._rest, self._last = to_write, from_read, b"", 0
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", {"url": "about:blank"}, session=False)["targetId"]
        attached = self.call("Target.attachToTarget", {"targetId": target, "flatten": True}, session=False)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, params: dict[str, Any] | None = None, session: bool = True) -> dict[str, Any]:
        self._last += 1
        message = {"id": self._last, "method": method, "params": params or {}}
        message |= {"sessionId": self.session} if session else {}
        os.write(self._in, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._last:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            data = os.read(self._out, 1 << 20)
            assert data, "the browser has gone"
            self._rest += data
        first, _, self._rest = self._rest.partition(b"\0")
        answer = json.loads(first)
        if "method" in answer:
            self.events.append(answer)
        return answer

    def open(self, file: Path, width: int = 1200, scheme: str = "light") -> None:
        self.events.clear()
        screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", screen)
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.call("Emulation.setEmulatedMedia", {"features": [feature]})
        self.call("Page.navigate", {"url": file.resolve().as_uri()})
        until = time.monotonic() + 60
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            assert time.monotonic() < until, "the page does not load"
            self._read()

    def evaluate(self, script: str) -> Any:
        answer = self.call("Runtime.evaluate", {"expression": script, "returnByValue": True})
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        text = {"Enter": "\r", " ": " "}.get(key)
        code = {"Enter": 13, " ": 32, "Tab": 9}[key]
        event = {"key": key, "windowsVirtualKeyCode": code, **({"text": text} if text else {})}
        self.call("Input.dispatchKeyEvent", {"type": "keyDown", **event})
        self.call("Input.dispatchKeyEvent", {"type": "keyUp", **event})

    def screenshot(self, file: Path) -> None:
        answer = self.call("Page.captureScreenshot", {"captureBeyondViewport": True})
        file.write_bytes(base64.b64decode(answer["data"]))

    def complaints(self) -> list[str]:
        """Exceptions, console errors and warnings since the page was opened."""
        bad = [e for e in self.events if e["method"] in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled")]
        entries = [e["params"]["entry"] for e in self.events if e["method"] == "Log.entryAdded"]
        return [json.dumps(e) for e in bad] + [f"{e['level']}: {e['text']}" for e in entries]

    def requests(self) -> list[str]:
        urls = [e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"]
        return [url for url in urls if not url.startswith("data:")]

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._in)
        os.close(self._out)


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("no chromium here: the page is not tested in a browser")
    found = Browser(program, tmp_path_factory.mktemp("chromium"))
    yield found
    found.close()


@pytest.fixture(scope="session")
def write_gif(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., None]:
    from wocar.report.clips import write_clip

    def write(file: Path, about: dict[str, Any], count: int = 4) -> None:
        frames = [np.full((24, 32, 3), 40, np.uint8) for _ in range(count)]
        for i, frame in enumerate(frames):
            frame[:, 3 * i : 3 * i + 3] = 250  # equal frames would be stored as one
        write_clip(file, frames, about)

    return write


@pytest.fixture(scope="session")
def write() -> SimpleNamespace:
    """`run` and `audit` write files as the commands do."""
    return SimpleNamespace(run=write_run, audit=write_audit)
