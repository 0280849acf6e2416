"""Hashed requirements, third-party notices and SBOM from requirements/lock.txt: python scripts/lock.py

Run by `make lock` in an environment that has everything installed at the locked versions. Reads the hashes of the
files of each version from the package index that pip is configured with; writes requirements/*.txt other than
lock.txt, requirements/sbom.json and THIRD_PARTY_NOTICES.md.
"""

import json
import os
import re
import subprocess
import sys
import tomllib
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from html import unescape
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "requirements"
PYTHONS = ("3.11", "3.12", "3.13")
SYSTEMS = {"linux": "Linux", "darwin": "Darwin"}
SETS = {"setup": ("dev",), "docs": ("docs",), "oracle": ("envpool", "onnx", "sb3", "ray")}
"""File of hashed requirements to the extras that it installs; the later two are added to the first."""
UNHASHED = {"torch"}
"""Comes from the index of its CPU builds, where there is one: its files and their hashes are others there."""
PLATFORMS = re.compile(r"^any$|manylinux.*_(x86_64|aarch64)$|macosx_.*_(x86_64|arm64|universal2)$")
LINK = re.compile(r'<a\s[^>]*href="([^"]+)"[^>]*>([^<]+)</a>')


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def pins() -> dict[str, str]:
    lines = (FOLDER / "lock.txt").read_text().splitlines()
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(name): version for name, version in pairs}


def wanted(extras: tuple[str, ...]) -> set[str]:
    """Packages that wocar with these extras needs, over all Python versions and systems."""
    data = project()
    optional = data["project"]["optional-dependencies"]
    lines = [*data["project"]["dependencies"], *data["build-system"]["requires"]]
    lines += [line for extra in extras for line in optional[extra]]
    found: set[str] = set()
    for python in PYTHONS:
        for platform, system in SYSTEMS.items():
            place = {"python_version": python, "python_full_version": f"{python}.0", "sys_platform": platform}
            place |= {"platform_system": system, "platform_machine": "x86_64", "implementation_name": "cpython"}
            seen: set[tuple[str, str]] = set()
            for line in lines:
                _follow(Requirement(line), place, seen, optional)
            found |= {name for name, _ in seen}
    return found - {"wocar"}


def _follow(asked: Requirement, place: dict[str, str], seen: set[tuple[str, str]], optional: dict) -> None:
    if asked.marker and not asked.marker.evaluate({**place, "extra": ""}):
        return
    name = canonicalize_name(asked.name)
    for extra in ("", *sorted(asked.extras)):
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        try:
            lines = optional.get(extra, []) if name == "wocar" else distribution(name).requires or []
        except PackageNotFoundError:
            continue  # of another Python version or system: `main` sees whether it is locked
        for line in lines:
            need = Requirement(line)
            if not need.marker or need.marker.evaluate({**place, "extra": extra}):
                _follow(Requirement(line.split(";")[0]), place, seen, optional)


@cache
def index() -> str:
    told = (
        os.environ.get("PIP_INDEX_URL")
        or subprocess.run(
            [sys.executable, "-m", "pip", "config", "get", "global.index-url"], capture_output=True, text=True
        ).stdout.strip()
    )
    return (told or "https://pypi.org/simple").rstrip("/")


def hashes(name: str, version: str) -> list[str]:
    """SHA-256 of the wheels of a version for our Python versions and systems; of its source where it has none."""
    with urllib.request.urlopen(f"{index()}/{name}/", timeout=60) as answer:
        page = answer.read().decode()
    wheels, sources = set(), set()
    for link, file in LINK.findall(page):
        file, digest = file.strip(), unescape(link).partition("#sha256=")[2]
        if digest and file.endswith(".whl"):
            try:
                _, number, _, tags = parse_wheel_filename(file)
            except InvalidWheelFilename:
                continue
            fits = any(_python_fits(tag.interpreter, tag.abi) and PLATFORMS.match(tag.platform) for tag in tags)
            if str(number) == version and fits:
                wheels.add(digest)
        elif digest and re.fullmatch(rf"{re.escape(name)}-{re.escape(version)}\.tar\.gz", canonical_file(file)):
            sources.add(digest)
    if not (wheels or sources):
        raise SystemExit(f"the index has no file of {name} {version}")
    return sorted(wheels or sources)


def canonical_file(file: str) -> str:
    stem, dash, rest = file.rpartition("-")
    return f"{canonicalize_name(stem)}{dash}{rest}"


def _python_fits(interpreter: str, abi: str) -> bool:
    ours = {f"cp{python.replace('.', '')}" for python in PYTHONS}
    return (
        interpreter in ours
        or interpreter in ("py3", "py2.py3", *(f"py{p.replace('.', '')}" for p in PYTHONS))
        or abi == "abi3"
    )


def licence(name: str) -> str:
    about = distribution(name).metadata
    if about.get("License-Expression"):
        return str(about["License-Expression"])
    told = [line.rsplit(" :: ", 1)[-1] for line in about.get_all("Classifier") or [] if line.startswith("License ::")]
    named = str(about.get("License") or "").strip().splitlines()
    return ", ".join(told) or (named[0][:60] if named else "not stated")


def main() -> int:
    locked = pins()
    sets = {name: wanted(extras) for name, extras in SETS.items()}
    missing = sorted(set().union(*sets.values()) - locked.keys())
    for name in missing:
        print(f"not locked (another system's?): {name}")
    need = sorted((set().union(*sets.values()) & locked.keys()) - UNHASHED)
    with ThreadPoolExecutor(8) as pool:
        found = dict(zip(need, pool.map(lambda name: hashes(name, locked[name]), need), strict=True))
    for file, names in sets.items():
        here = sorted((names & locked.keys()) - UNHASHED - (sets["setup"] if file != "setup" else set()))
        lines = [f"# scripts/lock.py: what `make {file}` installs, for Python {', '.join(PYTHONS)}"]
        for name in here:
            lines.append(f"{name}=={locked[name]} \\\n" + " \\\n".join(f"    --hash=sha256:{h}" for h in found[name]))
        (FOLDER / f"{file}.txt").write_text("\n".join(lines) + "\n")
    needed = wanted(())
    parts = [
        {
            "type": "library",
            "name": name,
            "version": locked[name],
            "purl": f"pkg:pypi/{name}@{locked[name]}",
            "licenses": [{"license": {"name": licence(name)}}],
            "scope": "required" if name in needed else "optional",
        }
        for name in sorted(set().union(*sets.values()) & locked.keys())
    ]
    sbom = {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "components": parts}
    (FOLDER / "sbom.json").write_text(json.dumps(sbom, indent=1) + "\n")
    rows = [f"| {p['name']} | {p['version']} | {p['licenses'][0]['license']['name']} | {p['scope']} |" for p in parts]
    head = (
        "# Third-party packages\n\nwocar is under the MIT licence. It uses these packages, each under its own licence"
    )
    about = (
        f"{head}\n(`scripts/lock.py`; required: by `pip install wocar`, optional: by an extra or for development).\n"
    )
    table = "\n".join(["| package | locked version | licence | |", "|---|---|---|---|", *rows])
    (ROOT / "THIRD_PARTY_NOTICES.md").write_text(f"{about}\n{table}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
