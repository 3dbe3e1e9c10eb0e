"""Tests of ``acidsql maintain`` as a service: its log, its end, its exit codes."""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from acidsql.metastore.embedded.store import EmbeddedMetastore
from acidsql.metastore.model import CompactionState, CompactionType
from acidsql.metastore.names import METASTORE_FILE
from acidsql.repl.main import main

_COMMAND = [sys.executable, "-c", "from acidsql.repl.main import main; main()"]
_SECONDS = 120
_CREATE = "CREATE TABLE t (id INT) STORED AS ORC TBLPROPERTIES ('transactional'='true')"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a directory with a table of eleven deltas that was never compacted."""
    inserts = [f"INSERT INTO t VALUES ({i})" for i in range(11)]
    text = "; ".join([_CREATE, *inserts])
    options = ["--conf", "spark.acidsql.compaction.auto=off", "-e", text]
    subprocess.run([*_COMMAND, *_place(tmp_path), *options], check=True, timeout=_SECONDS)
    return tmp_path


def _place(home: Path) -> list[str]:
    return ["--master", "local[2]", "--warehouse", str(home / "w")]


def _queue(home: Path) -> list[tuple[CompactionType, CompactionState]]:
    store = EmbeddedMetastore(str(home / METASTORE_FILE))
    entries = store.compactions()
    store.close()
    return [(entry.type, entry.state) for entry in entries]


@pytest.mark.spark
@pytest.mark.repeated
def test_a_service_compacts_until_it_is_told_to_end(home: Path) -> None:
    command = [*_COMMAND, "maintain", *_place(home), "--interval", "1"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as service:
        assert service.stderr is not None
        log = []
        for line in service.stderr:
            log.append(line)
            if "round: 1 requested, 1 compacted, 0 failed, 1 cleaned" in line:
                service.send_signal(signal.SIGTERM)
        assert service.wait(_SECONDS) == 0
    assert any("INFO compaction 1, major of default.t: ready for cleaning" in x for x in log)
    assert any("INFO SIGTERM: ends after the compaction at work" in x for x in log)
    assert _queue(home) == [(CompactionType.MAJOR, CompactionState.SUCCEEDED)]
    left = [path.name for path in (home / "w" / "t").iterdir() if not path.name.startswith("_")]
    assert left == ["base_0000011_v0000012"]


@pytest.mark.spark
@pytest.mark.repeated
def test_a_round_that_fails_exits_1(home: Path) -> None:
    for file in (home / "w" / "t").glob("delta_*/bucket_*"):
        file.write_bytes(b"no ORC file, and long enough to be one" * 9)
    done = subprocess.run(
        [*_COMMAND, "maintain", *_place(home), "--once"],
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    assert done.returncode == 1
    assert "ERROR compaction 1, major of default.t: failed: " in done.stderr
    assert _queue(home) == [(CompactionType.MAJOR, CompactionState.FAILED)]


@pytest.fixture
def process() -> Iterator[None]:
    """Have the loggers and the handlers of signals afterwards as they were."""
    root, own = logging.getLogger(), logging.getLogger("acidsql")
    handlers, level = root.handlers[:], own.level
    signals = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    root.handlers[:] = handlers
    own.setLevel(level)
    for number, handler in signals.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("process")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--interval", "0"], "not in the range"),
        (["--max-bytes", "none"], "not a valid integer"),
        (["--conf", "x"], "'x' is not KEY=VALUE"),
    ],
)
def test_wrong_usage_exits_2(arguments: list[str], message: str) -> None:
    answer = CliRunner().invoke(main, ["maintain", *arguments])
    assert answer.exit_code == 2
    assert message in answer.output
