"""Tests of the metrics of statements, without Spark."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass

import pytest

from acidsql.errors import LockTimeoutError
from acidsql.metastore.history import WriteCounts
from acidsql.session import metrics
from acidsql.session.metrics import Phase, Recording, current, phase, recorded


@dataclass
class Read:
    """Scan of a table."""

    table_name: str
    files: int
    bytes: int
    directories: int


def test_the_time_of_a_phase_is_without_those_inside_it() -> None:
    recording = Recording()
    recording.enter(Phase.PLAN)
    time.sleep(0.02)
    recording.enter(Phase.SNAPSHOT)
    time.sleep(0.05)
    recording.leave()
    time.sleep(0.02)
    recording.leave()
    time.sleep(0.02)  # of no phase
    found = recording.metrics(None)
    assert list(found.seconds) == ["snapshot", "plan"]
    assert found.seconds["snapshot"] >= 0.05
    assert found.seconds["plan"] >= 0.04
    assert found.total_seconds >= sum(found.seconds.values()) + 0.02


def test_a_statement_within_a_statement_is_part_of_it(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "acidsql.metrics")
    with recorded() as outer:
        with recorded() as inner, phase(Phase.PLAN):
            current().note_write_id("UPDATE", "db.t", 3)
            current().txn_id = 12
        assert inner is outer is current()
        assert not caplog.records
        outer.readings.append([Read("db.t", 2, 30, 1), Read("db.s", 1, 12, 4)])
        outer.note_written(1, WriteCounts(files=1, size=7))
        outer.rows.update(updated=2)
    (record,) = caplog.records
    assert record.levelname == "INFO"
    assert record.getMessage().startswith("UPDATE db.t: 2 rows updated, 42 bytes in 3 files read, ")
    fields = vars(record)
    assert {
        name: fields[name]
        for name in (
            *("operation", "tables", "txn_id", "write_ids", "rows_updated", "rows_inserted"),
            *("directories_read", "files_read", "bytes_read", "error"),
            *("directories_written", "files_written", "bytes_written"),
        )
    } == {
        "operation": "UPDATE",
        "tables": ("db.t",),
        "txn_id": 12,
        "write_ids": {"db.t": 3},
        "rows_updated": 2,
        "rows_inserted": 0,
        "directories_read": 5,
        "files_read": 3,
        "bytes_read": 42,
        "error": None,
        "directories_written": 1,
        "files_written": 1,
        "bytes_written": 7,
    }
    assert list(fields["seconds"]) == ["plan"]


def test_a_failed_statement_has_its_condition(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "acidsql.metrics")

    def failing() -> None:
        with recorded() as recording, phase(Phase.LOCK_WAIT):
            recording.txn_id = 1
            raise LockTimeoutError("LOCK_TIMEOUT", "no")

    with pytest.raises(LockTimeoutError):
        failing()
    (record,) = caplog.records
    assert vars(record)["error"] == "LOCK_TIMEOUT"
    assert record.getMessage().endswith("txn 1, failed: LOCK_TIMEOUT")
    assert list(vars(record)["seconds"]) == ["lock_wait"]


def test_what_concerns_no_acid_table_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "acidsql.metrics")
    with recorded() as recording:
        recording.operation = "QUERY"
        recording.readings.append([])
    assert not caplog.records


def test_a_program_that_does_not_ask_for_metrics_sees_none(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with recorded() as recording:
        recording.txn_id = 1
    assert capsys.readouterr() == ("", "")
    assert not metrics.logger.isEnabledFor(logging.INFO)


def test_names_of_new_tables() -> None:
    recording = Recording()
    recording.known_as["db.hidden_1"] = "db.t"
    recording.note_write_id("INSERT", "db.hidden_1", 1)
    assert recording.metrics(None).write_ids == {"db.t": 1}
