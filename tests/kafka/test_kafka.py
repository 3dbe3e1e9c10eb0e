"""Test of a stream from a real broker of Kafka."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.java_tools import JavaSetupError
from tests.kafka.broker import running
from tests.kafka.stream_program import changes, merged
from tests.requirements import require_tools, unavailable

pytestmark = pytest.mark.kafka

_ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def broker() -> Iterator[str]:
    """Start a broker; its address."""
    require_tools("mvn", "java")
    try:
        with running() as address:
            yield address
    except JavaSetupError as error:
        unavailable(str(error))


def _stream(home: Path, address: str, *numbers: int) -> tuple[int, str]:
    """Run the streaming process and wait until it and its JVM have ended."""
    command = [sys.executable, "-m", "tests.kafka.stream_program", str(home), address]
    with (
        (home / "log").open("ab") as log,
        subprocess.Popen(
            [*command, *map(str, numbers)],
            cwd=home,
            env={**os.environ, "PYTHONPATH": str(_ROOT)},
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,
        ) as process,
    ):
        assert process.stdout is not None
        said = process.stdout.read()  # the JVM has it too
        process.wait()
    return process.returncode, said


def test_a_stream_that_is_killed_loses_and_doubles_nothing(broker: str, tmp_path: Path) -> None:
    # The third batch is in one table when the process is killed, and not in the other.
    result, _ = _stream(tmp_path, broker, 0, 200, 3)
    assert result == -signal.SIGKILL, (tmp_path / "log").read_text()[-4000:]
    result, said = _stream(tmp_path, broker, 200, 300)
    assert result == 0, (tmp_path / "log").read_text()[-4000:]
    found = json.loads(said.splitlines()[-1])
    messages = changes(300)
    assert found["log"] == [[m["source"]["lsn"], m["op"]] for m in messages]
    assert found["customer"] == merged(messages)
