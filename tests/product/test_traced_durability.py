"""Test that everything is on the disk at a commit, by the system calls of Python and the JVM."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.product.traced_program import STATEMENTS

pytestmark = [pytest.mark.spark, pytest.mark.repeated]

_CALLS = "openat,open,creat,write,pwrite64,writev,ftruncate,truncate,rename,renameat,renameat2,"
_CALLS += "mkdir,mkdirat,unlink,unlinkat,rmdir,fsync,fdatasync,stat,newfstatat,statx"
# The process, the call, its arguments; with -y paths of descriptors stand in <>.
_CALL = re.compile(r"^\d+ +(\w+)\((.*)\) += (-?\d+)")
_UNFINISHED = re.compile(r"^(\d+) +(.*) <unfinished \.\.\.>$")
_RESUMED = re.compile(r"^(\d+) +<\.\.\. \w+ resumed>(.*)$")
_DESCRIPTOR, _QUOTED = re.compile(r"^\d+<([^>]*)>"), re.compile(r'"([^"]*)"')


def _lines(log: Path) -> Iterator[str]:
    """Yield the calls, each as one line where it ends."""
    begun: dict[str, str] = {}
    for line in log.read_text("utf-8", "replace").splitlines():
        if match := _UNFINISHED.match(line):
            begun[match[1]] = line.removesuffix(" <unfinished ...>")
        elif match := _RESUMED.match(line):
            yield begun.pop(match[1], f"{match[1]} ") + match[2]
        else:
            yield line


class Disk:
    """Files and directories with changes that were not synced.

    Attributes:
        dirty: their paths.
        at_commit: those when the metastore's last commit was synced.
    """

    def __init__(self, warehouse: str) -> None:
        self.warehouse = warehouse
        self.dirty: set[str] = set()
        self.at_commit: set[str] = set()

    def call(self, name: str, arguments: str) -> None:
        """Follow a system call."""
        descriptor = _DESCRIPTOR.match(arguments)
        paths = [path.rstrip("/") for path in _QUOTED.findall(arguments)]
        if name in ("fsync", "fdatasync"):
            assert descriptor is not None
            self.dirty.discard(descriptor[1])
            if descriptor[1].endswith(".sqlite-wal"):
                self.at_commit = self.visible()
        elif name in ("write", "pwrite64", "writev", "ftruncate"):
            if descriptor is not None:
                self.dirty.add(descriptor[1])
        elif name.startswith("rename"):
            self._rename(*paths[:2])
        elif name == "truncate":
            self.dirty.add(paths[0])
        elif name.startswith(("unlink", "rmdir")):
            self.dirty.discard(paths[0])
            if "_acidsql_staging" not in paths[0]:
                self.dirty.add(paths[0].rpartition("/")[0])
        elif name.startswith("mkdir"):
            self.dirty.add(paths[0].rpartition("/")[0])
        elif "O_CREAT" in arguments:
            self.dirty |= {paths[0], paths[0].rpartition("/")[0]}

    def _rename(self, old: str, new: str) -> None:
        moved = {path for path in self.dirty if path == old or path.startswith(f"{old}/")}
        self.dirty -= moved
        self.dirty |= {new + path.removeprefix(old) for path in moved}
        self.dirty |= {old.rpartition("/")[0], new.rpartition("/")[0]}

    def visible(self) -> set[str]:
        """Return the paths with changes but for those in staging."""
        below = {path for path in self.dirty if f"{path}/".startswith(f"{self.warehouse}/")}
        return {path for path in below if "_acidsql_staging" not in path}


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
@pytest.mark.parametrize("synchronous", ["full", "off"])
def test_nothing_is_left_to_sync_at_a_commit(tmp_path: Path, synchronous: str) -> None:
    """Check it, and that something is left of every statement where it is off."""
    log = tmp_path / "calls"
    program = [sys.executable, "-m", "tests.product.traced_program", str(tmp_path), synchronous]
    traced = ["strace", "-f", "-y", "-s", "0", "-e", f"trace={_CALLS}", "-o", str(log)]
    subprocess.run([*traced, *program], check=True, cwd=Path(__file__).parents[2])
    disk = Disk(f"{tmp_path}/warehouse")
    written: set[str] = set()
    marks = 0
    for line in _lines(log):
        if f"mark_{marks}" in line:
            left = disk.at_commit if synchronous == "full" else disk.visible()
            assert bool(left) == (synchronous == "off"), (STATEMENTS[marks], left)
            marks += 1
        elif (match := _CALL.match(line)) and int(match[3]) >= 0:
            disk.call(match[1], match[2])
            written |= disk.dirty
    assert marks == len(STATEMENTS)
    # The trace has the files, those that tasks wrote among them.
    assert sum("/bucket_" in path for path in written) > len(STATEMENTS)
    assert any("/part-" in path for path in written)
