"""Add an audited agent to the leaderboard: scripts/leaderboard_add.py AUDIT_JSON... [--name NAME]

Several audits must be of one agent: the worst attack of all counts. Of published agents, numbers only: what their
authors report is taken from the table below and from the paper's own tables. An entry of the same name and agent is
replaced.
"""

import argparse
from pathlib import Path
from typing import Any, NamedTuple

from wocar.files import read_json, write_json
from wocar.report.leaderboard import checked, make_entry
from wocar.reproduce.paper_numbers import published
from wocar.types import UserError

ROOT = Path(__file__).resolve().parents[1]
GITHUB = "https://github.com/"
ATLA, PAAD = GITHUB + "huanzhang12/ATLA_robust_RL", GITHUB + "umd-huang-lab/paad_adv_rl"
WOCAR, RADIAL = GITHUB + "umd-huang-lab/WocaR-RL", GITHUB + "tuomaso/radial_rl_v2"
SMOOTHED = GITHUB + "Trustworthy-ML-Lab/Robust_HighUtil_Smoothed_DRL"


class Release(NamedTuple):
    """A published agent: where it comes from, and its row in the paper's large table."""

    link: str
    method: str
    row: bool = True
    """Whether the paper's row is about this very file."""
    numbers: tuple[float, float] | None = None
    """Natural and worst return that its own release gives, in the place of the paper's row."""


RELEASES = {
    "ppo-halfcheetah": Release(ATLA, "ppo"),
    "ppo-walker": Release(ATLA, "ppo"),
    "sappo-convex-halfcheetah": Release(ATLA, "sa-ppo"),
    "sappo-hopper": Release(ATLA, "sa-ppo"),
    "sappo-walker": Release(ATLA, "sa-ppo"),
    "atla-lstm-sappo-walker": Release(ATLA, "atla-ppo"),
    "atlalstmsa-hopper": Release(ATLA, "atla-ppo"),
    "paatla-hopper": Release(PAAD, "pa-atla-ppo", numbers=(3594, 2293)),
    "paatla-halfcheetah": Release(PAAD, "pa-atla-ppo", numbers=(6185, 4472)),
    "radial-hopper": Release(RADIAL, "radial-ppo"),
    "radial-walker": Release(RADIAL, "radial-ppo"),
    "radial-halfcheetah": Release(RADIAL, "radial-ppo"),
    "wocar-hopper": Release(WOCAR, "wocar-ppo", numbers=(3624, 2642)),
    "wocar-walker": Release(WOCAR, "wocar-ppo", numbers=(4132, 2932)),
    "wocarmlp-halfcheetah": Release(WOCAR, "wocar-ppo"),
    "sppo-wocar-hopper": Release(SMOOTHED, "smoothed wocar-ppo", row=False),
    "sppo-sgld-hopper": Release(SMOOTHED, "smoothed sa-ppo", row=False),
}


def reported(release: Release, env: str) -> dict[str, Any] | None:
    """What the authors say: of this very file where they do, else of the row of their table."""
    if release.numbers:
        natural, worst = release.numbers
        return {"natural": natural, "worst": worst, "source": f"release, {release.link}"}
    task = env.partition("-")[0]
    rows = [p for p in published() if (p.label, p.task, p.method) == ("tab:mujoco_app", task, release.method)]
    if not release.row or not rows:
        return None
    worst = min(rows, key=lambda p: p.mean)
    natural = next(p.mean for p in rows if p.attack == "none")
    return {"natural": natural, "worst": worst.mean, "attack": worst.attack, "source": "WocaR paper, tab:mujoco_app"}


def usual_name(audit: dict[str, Any]) -> str:
    """Of a published agent its file's name; of ours method, steps and seed."""
    meta = audit["meta"]
    if "source" in meta:
        return Path(meta["source"]).stem.removeprefix("model-")
    steps = float(f"{meta['steps']:.1e}")
    short = f"{steps / 1e6:g}M" if steps >= 1e6 else f"{steps / 1e3:g}k"
    return f"{meta['method']}-{short}-s{meta['seed']}"


def add(files: list[Path], name: str | None, about: str, origin: str | None, link: str, out: Path) -> Path:
    audits = [read_json(file) for file in files]
    name = name or usual_name(audits[0])
    release = RELEASES.get(usual_name(audits[0])) if "source" in audits[0]["meta"] else None
    if release and not origin:
        told = reported(release, audits[0]["env"])
        entry = make_entry(name, audits, "published", release.link, about, told, release.method)
    else:
        entry = make_entry(name, audits, origin or "ours", link, about)
    file = out / entry.path
    if file.is_file() and checked(read_json(file), str(file)).data["agent_sha256"] != entry.data["agent_sha256"]:
        raise UserError(f"{file} is of another agent: choose another --name, or remove it")
    file.parent.mkdir(parents=True, exist_ok=True)
    write_json(file, entry.data)
    print(f"{entry.path}: natural {entry.natural['mean']:.0f}, worst {entry.worst['mean']:.0f}")
    return file


def same_agent(audit: Path, folder: Path | None) -> list[Path]:
    """Audits in the folder of the agent of an audit."""
    found = sorted(folder.glob("*.json")) if folder else []
    return [file for file in found if read_json(file)["agent_sha256"] == read_json(audit)["agent_sha256"]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("audits", type=Path, nargs="+")
    parser.add_argument("--name", help="by default method, steps and seed; of a published agent its file's name")
    parser.add_argument("--about", default="", help="what differs from others of its method, in a few words")
    parser.add_argument("--also", type=Path, help="a folder: its audits of the same agent count too")
    parser.add_argument("--origin", choices=("ours", "published", "submitted"))
    parser.add_argument("--link", default="")
    parser.add_argument("--out", type=Path, default=ROOT / "leaderboard")
    options = parser.parse_args()
    try:
        files = options.audits + same_agent(options.audits[0], options.also)
        add(files, options.name, options.about, options.origin, options.link, options.out)
    except UserError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
