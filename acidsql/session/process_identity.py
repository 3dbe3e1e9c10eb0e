"""Identity of processes, by which a later process of the machine recognises one that has ended."""

from __future__ import annotations

import os
import socket
from pathlib import Path

_PROC = Path("/proc")


def this_process() -> str:
    """Return a text that identifies this process on its machine: machine, number and start."""
    return f"{_machine()} {os.getpid()} {_started(os.getpid())}"


def has_ended(process: str) -> bool:
    """Return whether a process of this machine has ended.

    Processes of other machines, of other containers and from before the last boot cannot be
    checked; False is returned for them.

    Args:
        process: text from ``this_process``.
    """
    rest, _, started = process.rpartition(" ")
    machine, _, number = rest.rpartition(" ")
    if machine != _machine() or not number.isdecimal():
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False  # another user's process
    return started != _started(int(number))


def _machine() -> str:
    """Return the host with, on Linux, its current boot and the namespace of process numbers."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"{socket.gethostname()} {boot} {(_PROC / 'self/ns/pid').readlink()}"
    except OSError:
        return socket.gethostname()


def _started(number: int) -> str:
    """Return when a process started, in ticks since the boot; empty where this is unknown."""
    try:
        stat = (_PROC / str(number) / "stat").read_text()
    except OSError:
        return ""
    # proc(5): field 22. The command, field 2, is in parentheses and may contain blanks.
    return stat.rpartition(")")[2].split()[19]
