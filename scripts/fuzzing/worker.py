"""The process that reads damaged files, watched: code run, time and memory."""

import json
import resource
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fuzzing.agent_kinds import add_agents, add_foreign
from fuzzing.corpus import Corpus
from fuzzing.damage import damaged
from fuzzing.result_kinds import add_results
from fuzzing.state_kinds import add_states

SECONDS, MEMORY = 10, 1_000_000_000
"""Of the processor, so that a busy machine finds nothing; and of memory, for one file."""
HANG_SECONDS = 60
"""By the clock, for a reader that waits."""
EVENTS = {"os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "subprocess.Popen", "socket.connect"}
EVENTS |= {"pty.spawn", "os.startfile", "shutil.rmtree", "os.chmod", "os.symlink", "ctypes.dlopen", "webbrowser.open"}


class TooLongError(BaseException):
    """Passes through whatever a reader catches."""


class Watch:
    """What a reader does beside reading: events of code run, time and memory."""

    def __init__(self, folder: Path) -> None:
        self.inside, self.live, self.events = str(folder), False, []
        self.seconds, self.bytes = 0.0, 0
        """What the last file took: of the processor, and of memory at its peak, above what honest files had taken."""
        self.base = in_bytes("VmRSS")
        sys.addaudithook(self.hook)
        for sign in (signal.SIGALRM, signal.SIGPROF):
            signal.signal(sign, self.alarm)
        limit = in_bytes("VmSize") + 3 * MEMORY
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
        raise TooLongError

    def outcome(self, read: Callable[[], None]) -> str:
        """taken, refused, or what was found."""
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
        start = time.process_time()
        word = self.watched(read)
        self.seconds, self.bytes = time.process_time() - start, max(in_bytes("VmHWM") - self.base, 0)
        if self.events:
            word = f"ran {self.events[0]}"
            self.events.clear()
        if self.bytes > MEMORY:
            word = "large"
        return "slow" if self.seconds > SECONDS else word

    def watched(self, read: Callable[[], None]) -> str:
        from wocar.types import UserError

        self.live = True
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        signal.setitimer(signal.ITIMER_REAL, HANG_SECONDS)
        try:
            read()
        except UserError:
            return "refused"
        except TooLongError:
            return "slow"
        except Exception as error:
            return f"uncaught {type(error).__name__}: {' '.join(str(error).split())[:150]}"
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)
            self.live = False
        return "taken"


def work(seed: int, first: int, folder: Path) -> None:
    """Read damaged files one after the other; a line before and after each."""
    import numpy as np

    corpus = Corpus(folder)
    for add in (add_agents, add_foreign, add_results, add_states):
        add(corpus)
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
        told = {"outcome": watch.outcome(lambda kind=kind, data=data: corpus.read(kind, data))}
        print(json.dumps({**told, "seconds": round(watch.seconds, 4), "bytes": watch.bytes}), flush=True)
        if told["outcome"] == "large":
            return


def in_bytes(field: str) -> int:
    """A size that the system tells of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:"))
