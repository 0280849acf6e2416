"""TensorBoard event files."""

import sys
import time
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from wocar.files import one_line_errors


@cache
def _tensorboardx() -> ModuleType:
    """tensorboardX, kept from importing PyTorch, which takes seconds and is not needed here."""
    modules: dict[str, Any] = sys.modules
    keep = "torch" not in modules
    if keep:
        modules["torch"] = None  # an import of it fails
    try:
        import tensorboardX
        import tensorboardX.event_file_writer
    finally:
        if keep:
            del modules["torch"]
    return tensorboardX


class TensorBoardWriter:
    """An event file written in the calling thread. With tensorboardX's own thread, a full disk kills that thread and
    its queue then blocks the training for ever.
    """

    def __init__(self, folder: Path, first_step: int) -> None:
        """Points of earlier files from `first_step` on are discarded."""
        self._folder, package = folder, _tensorboardx()
        self._protos = package.proto.event_pb2, package.proto.summary_pb2
        with one_line_errors("write", folder):
            folder.mkdir(exist_ok=True)
            self._writer = package.event_file_writer.EventsWriter(str(folder / "events"))
            event = self._protos[0]
            start = event.SessionLog(status=event.SessionLog.START)
            self._writer.write_event(event.Event(step=first_step, session_log=start))

    def add(self, numbers: dict[str, float], step: int) -> None:
        event, summary = self._protos
        values = [summary.Summary.Value(tag=name, simple_value=number) for name, number in numbers.items()]
        point = event.Event(wall_time=time.time(), step=step, summary=summary.Summary(value=values))
        with one_line_errors("write", self._folder):
            self._writer.write_event(point)

    def flush(self) -> None:
        with one_line_errors("write", self._folder):
            self._writer.flush()
