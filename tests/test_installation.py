"""The sdist and the wheel built from it: what they bring, and that they work outside the repository."""

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

REPOSITORY = Path(__file__).parent.parent
PACKAGES, MEGABYTES = 40, 900
TINY = ["--n-envs", "2", "--n-steps", "16", "--minibatches", "2", "--policy-epochs", "1", "--value-epochs", "1"]


def closure(name: str, extras: frozenset[str], found: dict[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    """All that `pip install name[extras]` installs, each with the extras it is asked for."""
    key = re.sub(r"[-_.]+", "-", name).lower()
    if key in found and extras <= found[key]:
        return found
    found[key] = found.get(key, frozenset()) | extras
    for line in distribution(name).requires or []:
        needed = Requirement(line)
        if not needed.marker or any(needed.marker.evaluate({"extra": extra}) for extra in extras | {""}):
            closure(needed.name, frozenset(needed.extras), found)
    return found


def megabytes(package: str) -> float:
    files = (Path(str(file.locate())) for file in distribution(package).files or [])
    return sum(file.stat().st_size for file in files if file.is_file()) / 1e6


def test_an_installation_is_small() -> None:
    packages = closure("wocar", frozenset(), {})
    assert len(packages) <= PACKAGES, sorted(packages)
    assert not packages.keys() & {"torch", "envpool", "matplotlib", "ray", "stable-baselines3"}
    assert sum(map(megabytes, packages)) < MEGABYTES


def test_setup_installs_hashed_files_only() -> None:
    """Every package has a hash, everything that wocar and its tools need is listed, and no licence but permissive ones
    is required."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    blocks = (REPOSITORY / "requirements" / "setup.txt").read_text().replace("\\\n", "").splitlines()
    listed = {}
    for line in blocks[1:]:
        assert re.fullmatch(r"[a-z0-9-]+==\S+(\s+--hash=sha256:[0-9a-f]{64})+", line.strip()), line
        listed[line.split("==")[0]] = line
    needs = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    needs += project["project"]["optional-dependencies"]["dev"]
    wanted = {re.sub(r"[-_.]+", "-", Requirement(line).name).lower() for line in needs}
    assert wanted <= listed.keys()
    assert not any("ale-py" in line for line in project["project"]["dependencies"])  # GPL-2.0: an extra
    sbom = json.loads((REPOSITORY / "requirements" / "sbom.json").read_text())["components"]
    assert listed.keys() <= {part["name"] for part in sbom}
    required = {part["name"]: part["licenses"][0]["license"]["name"] for part in sbom if part["scope"] == "required"}
    assert not [name for name, licence in required.items() if re.search(r"\bA?GPL", licence)]
    makefile = (REPOSITORY / "Makefile").read_text()
    assert "--require-hashes" in makefile and "$(HASHED)setup.txt" in makefile


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist of the repository, the wheel of that sdist, and its installation."""
    folder = tmp_path_factory.mktemp("wheel")
    build_sdist = "import sys; from hatchling.build import build_sdist; build_sdist(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build_sdist, str(folder)], cwd=REPOSITORY, check=True)
    (sdist,) = folder.glob("wocar-*.tar.gz")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    build = ["wheel", "--no-index", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(sdist)]
    subprocess.run([*pip, *build], check=True)
    (wheel,) = folder.glob("wocar-*.whl")
    subprocess.run(
        [*pip, "install", "--no-index", "--no-deps", "--target", str(folder / "site"), str(wheel)], check=True
    )
    return folder / "site"


def python(site: Path, folder: Path, *words: str) -> str:
    env = {**os.environ, "PYTHONPATH": str(site)}
    done = subprocess.run([sys.executable, *words], env=env, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_trains_and_audits_outside_the_repository(site: Path, tmp_path: Path) -> None:
    where = python(site, tmp_path, "-c", "import wocar; print(wocar.__file__)").strip()
    assert Path(where).is_relative_to(site)
    python(
        site,
        tmp_path,
        "-m",
        "wocar",
        "train",
        "wocar-ppo",
        "--env",
        "Hopper-v4",
        "--steps",
        "64",
        *TINY,
        "--out",
        "run",
    )
    python(
        site,
        tmp_path,
        "-m",
        "wocar",
        "audit",
        "run",
        "--attacks",
        "none,maxdiff",
        "--episodes",
        "2",
        "--json",
        "a.json",
    )
    assert len(json.loads((tmp_path / "a.json").read_text())["attacks"]) == 2
    python(site, tmp_path, "-m", "wocar", "report", "run", "a.json", "--out", "page.html")
    assert "WocaR-PPO" in (tmp_path / "page.html").read_text()


def test_the_wheel_brings_the_zoo(site: Path, tmp_path: Path) -> None:
    listed = json.loads(python(site, tmp_path, "-m", "wocar", "zoo", "--json"))
    assert {"Hopper-v4/wocar-sac", "HalfCheetah-v4/wocar-sac"} <= {entry["name"] for entry in listed}
    words = ["zoo", "verify", "HalfCheetah-v4/wocar-sac", "--episodes", "2", "--json"]
    assert json.loads(python(site, tmp_path, "-m", "wocar", *words))["passed"]
