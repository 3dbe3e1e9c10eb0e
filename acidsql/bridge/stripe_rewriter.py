"""Rewriting of ORC stripes by ORC's own reader and writer, in column batches.

Spark's writer takes rows and splits them value by value, which is most of the cost of writing.
Here, values are decoded into a vector and encoded from it, without casts. The new file has the
types of the old file, and no calendar or time zone is applied to dates and local times.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass

from py4j.java_gateway import get_field, set_field
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from acidsql.bridge.hadoop import hadoop_conf
from acidsql.bridge.jobs import root_message
from acidsql.bridge.jvm import JavaObject, jvm_class
from acidsql.errors import AcidSqlError, FormatError, WriteJobError
from acidsql.limits import limits

_ORC = "org.apache.orc"
# Assumed ratio of decoded to encoded bytes.
_SHRINK = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class StripeRows:
    """Rows of consecutive stripes of an ORC file, except the omitted rows.

    Attributes:
        path: qualified Hadoop path (Java object).
        start: offset of the first stripe, in bytes.
        length: length of all stripes, in bytes.
        rows: number of rows in the stripes.
        left_out: positions of the rows to omit, from 0, ascending.
    """

    path: JavaObject
    start: int
    length: int
    rows: int
    left_out: Sequence[int]


def rewrite_stripes(
    spark: SparkSession,
    stripes: Iterable[StripeRows],
    target: JavaObject,
    settings: Mapping[str, str],
) -> None:
    """Write the rows of stripes with the same columns, in order, into a new file.

    Args:
        spark: the session.
        stripes: the rows, at least one element.
        target: qualified Hadoop path of the file, which must not exist.
        settings: settings of ORC's reader and writer.

    Raises:
        WriteJobError: a stripe cannot be read, or the file cannot be written (WRITE_JOB_FAILED).
        FormatError: a file has another number of rows than expected (FAILED_READ_FILE).
    """
    conf = hadoop_conf(spark)
    for key, value in settings.items():
        conf.set(key, value)
    files = jvm_class(spark, f"{_ORC}.OrcFile")
    writer = None
    try:
        for some in stripes:
            # Local times are read and written as UTC, which has no daylight-saving gaps.
            known = files.readerOptions(conf).useUTCTimestamp(True)
            with (
                _failures(f"rows of {some.path.toString()} could not be rewritten"),
                closing(files.createReader(some.path, known)) as reader,
            ):
                if writer is None:
                    wanted = files.writerOptions(conf).setSchema(reader.getSchema())
                    writer = files.createWriter(target, wanted.useUTCTimestamp(True))
                _copy(spark, reader, some, writer)
    finally:
        if writer is not None:
            with _failures(f"{target.toString()} could not be written"):
                writer.close()


@contextmanager
def _failures(what: str) -> Iterator[None]:
    """Raise Java exceptions, including those that PySpark translates, as ``WriteJobError``."""
    try:
        yield
    except Py4JJavaError as error:
        reason = root_message(error.java_exception)
        raise WriteJobError("WRITE_JOB_FAILED", f"{what}: {reason}") from error
    except AcidSqlError:
        raise
    except PySparkException as error:
        raise WriteJobError("WRITE_JOB_FAILED", f"{what}: {error}") from error


def _copy(spark: SparkSession, reader: JavaObject, stripes: StripeRows, writer: JavaObject) -> None:
    likely = limits().rewrite_batch_bytes * stripes.rows // (stripes.length * _SHRINK)
    # Decimals of up to 18 digits are read into vectors of 64-bit integers.
    version = jvm_class(spark, f"{_ORC}.TypeDescription$RowBatchVersion").USE_DECIMAL64
    batch = reader.getSchema().createRowBatch(
        version, max(1, min(limits().rewrite_batch_rows, likely))
    )
    selected = get_field(batch, "selected")
    first = 0
    with closing(reader.rows(reader.options().range(stripes.start, stripes.length))) as rows:
        while rows.nextBatch(batch):
            number = get_field(batch, "size")
            kept = _kept(stripes.left_out, first, number)
            if len(kept) < number:
                packed = struct.pack(f">{len(kept)}i", *kept)
                buffer = jvm_class(spark, "java.nio.ByteBuffer").wrap(packed)
                buffer.asIntBuffer().get(selected, 0, len(kept))
                set_field(batch, "selectedInUse", True)
                set_field(batch, "size", len(kept))
            writer.addRowBatch(batch)
            first += number
    if first != stripes.rows:
        path = stripes.path.toString()
        raise FormatError(
            "FAILED_READ_FILE",
            f"{path} gave {first} rows in place of {stripes.rows}",
            {"path": path},
        )


def _kept(left_out: Sequence[int], first: int, number: int) -> Sequence[int]:
    """Return the offsets of the rows in a batch that are not omitted.

    Args:
        left_out: positions of omitted rows, ascending.
        first: position of the batch's first row.
        number: number of rows in the batch.
    """
    start, end = bisect_left(left_out, first), bisect_left(left_out, first + number)
    if start == end:
        return range(number)
    kept: list[int] = []
    begin = 0
    for position in left_out[start:end]:
        kept.extend(range(begin, position - first))
        begin = position - first + 1
    kept.extend(range(begin, number))
    return kept
