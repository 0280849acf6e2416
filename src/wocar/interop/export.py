"""Export of an agent to a file of another library."""

from pathlib import Path
from typing import Literal, NamedTuple

from wocar.agent import Agent
from wocar.files import write_atomic
from wocar.interop.onnx_writer import onnx_file
from wocar.interop.sb3_space_writer import Box, vec_normalize
from wocar.interop.sb3_writer import sb3_zip
from wocar.types import UserError

ExportFormat = Literal["sb3", "onnx"]
SUFFIX = {"sb3": ".zip", "onnx": ".onnx"}


class Exported(NamedTuple):
    files: list[Path]
    notes: list[str]
    """What the reader of the files should know."""


def export_agent(
    agent: Agent, to: ExportFormat, out: Path, observations: Box | None = None, overwrite: bool = False
) -> Exported:
    """Write the agent for another library; all its files or none.

    `observations`: the space that the environment declares, which Stable-Baselines3 compares with its own.
    """
    if to not in SUFFIX:
        raise UserError(f"unknown format {to!r}: choose one of {', '.join(SUFFIX)}")
    if agent.black_box:
        raise UserError("a black box cannot be exported: there are no weights to write")
    out = out if out.suffix else out.with_suffix(SUFFIX[to])
    statistics = out.with_name(f"{out.stem}_vec_normalize.pkl")
    notes: list[str] = []
    files: dict[Path, bytes] = {}
    if to == "onnx":
        files[out] = onnx_file(agent)
    else:
        files[out], notes = sb3_zip(agent, observations)
        pickled = vec_normalize(agent, observations)
        if pickled is not None:
            files[statistics] = pickled
    if not out.parent.is_dir():
        raise UserError(f"cannot write {out}: its folder does not exist")
    taken = [file for file in ({out, statistics} if to == "sb3" else {out}) if file.exists()]
    if taken and not overwrite:
        raise UserError(f"{min(taken)} exists: choose another name, or say --overwrite")
    for file in taken:
        if file not in files:  # statistics of an older export would be taken for those of this agent
            file.unlink()
    for file, data in files.items():
        write_atomic(file, data)
    return Exported(list(files), notes)
