"""TensorBoard event files."""

import time
from pathlib import Path

from tensorboardX.event_file_writer import EventsWriter
from tensorboardX.proto.event_pb2 import Event, SessionLog
from tensorboardX.proto.summary_pb2 import Summary

from wocar.files import one_line_errors


class TensorBoardWriter:
    """An event file written in the calling thread. With tensorboardX's own thread, a full disk kills that thread and
    its queue then blocks the training for ever.
    """

    def __init__(self, folder: Path, first_step: int) -> None:
        """Points of earlier files from `first_step` on are discarded."""
        self._folder = folder
        with one_line_errors("write", folder):
            folder.mkdir(exist_ok=True)
            self._writer = EventsWriter(str(folder / "events"))
            self._writer.write_event(Event(step=first_step, session_log=SessionLog(status=SessionLog.START)))

    def add(self, numbers: dict[str, float], step: int) -> None:
        values = [Summary.Value(tag=name, simple_value=number) for name, number in numbers.items()]
        with one_line_errors("write", self._folder):
            self._writer.write_event(Event(wall_time=time.time(), step=step, summary=Summary(value=values)))

    def flush(self) -> None:
        with one_line_errors("write", self._folder):
            self._writer.flush()
