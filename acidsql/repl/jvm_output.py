"""Standard error of the JVM, without the lines that say nothing to the shell's user."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_STANDARD_ERROR = 2
# Of Java and of Spark's start script; what is missing is said by ``java_needed``.
_HIDDEN = re.compile(
    rb"WARNING: Using incubator modules: |JAVA_HOME is not set|\S+/spark-class: line \d+: "
)


@contextmanager
def filtered_stderr() -> Iterator[None]:
    """Let processes that are started in the block write to standard error without those lines.

    What they write passes through a thread of this process for as long as they run.
    """
    try:
        terminal = os.dup(_STANDARD_ERROR)
    except OSError:  # there is no standard error
        yield
        return
    source, sink = os.pipe()
    _flush()
    os.dup2(sink, _STANDARD_ERROR)
    os.close(sink)
    thread = threading.Thread(
        target=_pass_on, args=(source, os.dup(terminal)), name="acidsql-stderr", daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        _flush()
        os.dup2(terminal, _STANDARD_ERROR)
        os.close(terminal)


def _pass_on(source: int, target: int) -> None:
    with os.fdopen(source, "rb") as lines, os.fdopen(target, "wb", buffering=0) as out:
        for line in lines:
            if not _HIDDEN.match(line):
                out.write(line)


def _flush() -> None:
    if sys.stderr is not None:
        sys.stderr.flush()
