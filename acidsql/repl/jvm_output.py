"""Filter of the JVM's standard error, for lines that do not help the shell's user."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_STANDARD_ERROR = 2
# Lines of Java and of Spark's start script. If Java is missing, ``java_needed`` reports it.
_HIDDEN = re.compile(
    rb"WARNING: Using incubator modules: |JAVA_HOME is not set|\S+/spark-class: line \d+: "
)


@contextmanager
def filtered_stderr() -> Iterator[None]:
    """Filter the standard error of the processes that start in the block.

    A thread of this process copies their output for as long as they run.
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
