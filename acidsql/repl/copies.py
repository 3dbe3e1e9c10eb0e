"""``acidsql convert`` and ``acidsql export``: copy tables from and to other formats.

Exit codes: 0 both tables are equal; 1 the copy failed (the next run continues a conversion where it
stopped); 2 wrong usage; 130 cancelled with Ctrl-C.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from tqdm import tqdm

import acidsql
from acidsql.repl.ingest_command import INTERRUPTED
from acidsql.repl.printer import counted, summary


def convert(  # noqa: PLR0913 - one argument for every option
    spark: SparkSession,
    *,
    source: str,
    target: str,
    schema: str | None,
    select: Sequence[str],
    partition_by: str | None,
    properties: Mapping[str, str],
    options: Mapping[str, str],
    batch_bytes: int,
    batch_rows: int,
    dry_run: bool,
) -> int:
    """Convert a table and print a report; return the exit code."""

    def run(*, dry: bool, on_batch: Callable[[int, int, int], None] | None) -> acidsql.CopyReport:
        return acidsql.convert(
            spark,
            source,
            target,
            schema=schema,
            options=options,
            select=select or None,
            partition_by=_names(partition_by),
            properties=properties,
            batch_bytes=batch_bytes,
            batch_rows=batch_rows,
            dry_run=dry,
            on_batch=on_batch,
        )

    def work() -> acidsql.CopyReport:
        if dry_run:
            planned = run(dry=True, on_batch=None)
            _report_columns(planned)
            return planned
        with tqdm(unit=" batches", disable=not sys.stderr.isatty()) as bar:

            def show(number: int, total: int, rows: int) -> None:
                bar.total = total
                bar.set_postfix_str(f"{rows} rows")
                bar.update(number - bar.n)

            return run(dry=False, on_batch=show)

    return _ended(work, is_plan=dry_run)


def export(
    spark: SparkSession,
    *,
    table: str,
    target: str,
    version: str | None,
    timestamp: str | None,
    partition_by: str | None,
    options: Mapping[str, str],
) -> int:
    """Export a table and print a report; return the exit code."""

    def work() -> acidsql.CopyReport:
        return acidsql.export(
            spark,
            table,
            target,
            version=version,
            timestamp=timestamp,
            partition_by=_names(partition_by),
            options=options,
        )

    return _ended(work)


def _ended(work: Callable[[], acidsql.CopyReport], *, is_plan: bool = False) -> int:
    try:
        report = work()
    except KeyboardInterrupt:
        return INTERRUPTED
    except (PySparkException, OSError) as error:
        # Keep all lines of acidsql's errors, because they can list columns.
        text = str(error) if isinstance(error, acidsql.AcidSqlError) else summary(error)
        _say(sys.stderr, f"error: {text}")
        return 1
    if report.checksum is not None:
        _say(sys.stdout, f"{report.source} and {report.target} are equal: {report.checksum}")
        _say(sys.stdout, _done(report))
    elif report.rows is None and not report.copied and report.batches:
        said = "" if is_plan else "copied before, "
        batches = counted(report.batches, "batch")
        _say(sys.stdout, f"{report.source} to {report.target}: {said}{batches}")
    return 0


def _done(report: acidsql.CopyReport) -> str:
    before = report.batches - report.copied
    earlier = f", {counted(before, 'batch')} before" if before else ""
    return f"{counted(report.copied, 'batch')} copied{earlier}"


def _report_columns(report: acidsql.CopyReport) -> None:
    for column in report.columns:
        _say(sys.stdout, str(column))
    if report.partition_columns:
        _say(sys.stdout, f"partitioned by {', '.join(report.partition_columns)}")


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _say(stream: Any, text: str) -> None:
    stream.write(f"{text}\n")
