"""What started processes write to standard error, but for lines that say nothing."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from acidsql.repl.jvm_output import filtered_stderr

_PROGRAM = """
for line in ("WARNING: Using incubator modules: jdk.incubator.vector", "an error",
             "JAVA_HOME is not set", "/a/spark-class: line 3: java: no", "the last"):
    echo(line)
""".replace("echo(line)", "print(line, file=__import__('sys').stderr)")


def test_lines_that_say_nothing_are_left_out(capfd: pytest.CaptureFixture[str]) -> None:
    before = threading.active_count()
    with filtered_stderr():
        process = subprocess.Popen([sys.executable, "-c", _PROGRAM])
    print("of this process", file=sys.stderr)
    assert process.wait(30) == 0
    for thread in threading.enumerate():
        if thread.name == "acidsql-stderr":  # ends with the process
            thread.join(30)
    printed = capfd.readouterr().err.splitlines()
    assert sorted(printed) == ["an error", "of this process", "the last"]
    assert threading.active_count() <= before
