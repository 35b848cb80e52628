"""How much processor time and memory a process and its children have taken, asked from outside and from inside.

A process that is watched leads a process group of its own, which its children belong to.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")


@dataclass(frozen=True)
class Usage:
    """Of a process group.

    Attributes
    ----------
    cpu : seconds of the processor so far
    memory : bytes held now; what processes share counts for each
    """

    cpu: float = 0.0
    memory: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.cpu + other.cpu, self.memory + other.memory)


def usage_by_group() -> dict[int, Usage]:
    """Return the usage of each process group; {} where the system does not tell, as on Windows.

    Linux tells in /proc, where children that have ended count for the process that started them. Other systems tell through
    ``ps``, in whole seconds, without children that have ended.
    """
    return _from_proc() if (_PROC / "self" / "stat").exists() else _from_ps()


def own_cpu() -> float:
    """Return the processor's seconds that this process and its ended children have taken."""
    ended = os.times()
    return time.process_time() + ended.children_user + ended.children_system


def own_peak() -> int:
    """Return the most memory that this process has held, in bytes; 0 where the system does not tell.

    ``ru_maxrss`` is passed on to a process from the one that started it, so Linux's own mark is read where there is one.
    """
    try:
        for line in (_PROC / "self" / "status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    except OSError:
        pass
    try:
        import resource
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def _from_proc() -> dict[int, Usage]:
    usage: dict[int, Usage] = {}
    tick = os.sysconf("SC_CLK_TCK")
    page = os.sysconf("SC_PAGE_SIZE")
    for entry in os.scandir(_PROC):
        if not entry.name.isdecimal():
            continue
        try:
            text = Path(entry.path, "stat").read_text(errors="replace")
        except OSError:  # it has ended since
            continue
        # The name of the program, in brackets, may itself hold brackets and blanks. State, parent and group follow it.
        fields = text[text.rfind(")") + 2 :].split()
        group = int(fields[2])
        used = Usage(sum(map(int, fields[11:15])) / tick, int(fields[21]) * page)
        usage[group] = usage.get(group, Usage()) + used
    return usage


def _from_ps() -> dict[int, Usage]:
    try:
        done = subprocess.run(
            ["ps", "-A", "-o", "pgid=", "-o", "rss=", "-o", "time="], capture_output=True, text=True, check=False
        )
    except OSError:
        return {}
    usage: dict[int, Usage] = {}
    for line in done.stdout.splitlines():
        group, kilobytes, spent = line.split()
        used = Usage(_seconds(spent), 1024 * int(kilobytes))
        usage[int(group)] = usage.get(int(group), Usage()) + used
    return usage


def _seconds(text: str) -> float:
    """Read [days-][hours:]minutes:seconds."""
    days, _, clock = text.rpartition("-")
    total = 0.0
    for part in clock.split(":"):
        total = 60 * total + float(part)
    return total + 86400 * int(days or 0)
