"""Suite ``delete_files``: acidsql's writing of a delete file in the driver, against pyorc.

pyorc takes rows as Python objects, and the user metadata that Hive needs. Arrow's writer takes
columns, but no metadata, so acidsql appends it.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from itertools import repeat

import numpy as np
import pyarrow as pa
import pyarrow.orc as pa_orc
import pyorc
from pyspark.sql.types import DecimalType, IntegerType, StringType, StructField, StructType
from tqdm import tqdm

from acidsql.storage.delete_files import encode
from tpcds_bench.cases import AnswerError
from tpcds_bench.measure import WARM_UP, Contender, Duel, duel
from tpcds_bench.report import Section

_BUCKET = 0x20000000  # bucket 0, statement 0
_WRITE_IDS = 4
_BATCH = 65_536
_SCHEMA = (
    "struct<operation:int,originalTransaction:bigint,bucket:int,rowId:bigint,"
    "currentTransaction:bigint,row:struct<a:int,b:string,c:decimal(10,2)>>"
)
_ROW = StructType(
    [
        StructField("a", IntegerType()),
        StructField("b", StringType()),
        StructField("c", DecimalType(10, 2)),
    ]
)
_CODECS = {"zlib": pyorc.CompressionKind.ZLIB, "zstd": pyorc.CompressionKind.ZSTD}


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Result of one codec.

    Args:
        codec: compression of the files.
        size: bytes of acidsql's file.
        pyorc_size: bytes of pyorc's file.
        duel: all samples; pyorc is the yardstick.
    """

    codec: str
    size: int
    pyorc_size: int
    duel: Duel


def run(*, rows: int, rounds: int) -> tuple[Result, ...]:
    """Write a delete file with each codec, by both writers in turns.

    Args:
        rows: number of delete events.
        rounds: rounds after the warm-up rounds.

    Raises:
        AnswerError: the two writers wrote different events.
    """
    events = _events(rows)
    results = []
    with tqdm(total=len(_CODECS) * (WARM_UP + rounds), unit="round") as progress:
        for codec in _CODECS:
            encoded, other = encode(events, _ROW, codec), _by_pyorc(events, codec)
            if not _columns(encoded).equals(_columns(other)):
                raise AnswerError(f"the delete files with {codec} differ")
            measured = duel(
                _writing(partial(encode, events, _ROW, codec)),
                _writing(partial(_by_pyorc, events, codec)),
                rounds=rounds,
                progress=progress.update,
            )
            results.append(
                Result(codec=codec, size=len(encoded), pyorc_size=len(other), duel=measured)
            )
    return tuple(results)


def sections(rows: int, results: Sequence[Result]) -> tuple[Section, ...]:
    """Return the report on a run."""
    versions = f"pyarrow {pa.__version__}, pyorc {pyorc.__version__}"
    table: list[Sequence[str | float]] = []
    for result in results:
        walls = [
            sorted(sample.wall for sample in side)[len(side) // 2]
            for side in (result.duel.subject, result.duel.yardstick)
        ]
        ratios = result.duel.wall_ratios
        span = f"{min(ratios):.2f} to {max(ratios):.2f}"
        sizes = (result.size, result.pyorc_size)
        table.append(
            (result.codec, result.duel.wall_ratio, span, result.duel.cpu_ratio, *walls, *sizes)
        )
    return (
        Section(
            title="Delete files",
            text=(
                f"A file of {rows:,} delete events with scattered row ids, in memory; {versions},"
                f" Python {platform.python_version()}, {os.cpu_count()} processors. Median ratios"
                " of acidsql's writing to pyorc's."
            ),
            headers=(
                "codec", "ratio", "range", "CPU ratio", "seconds", "pyorc's", "bytes", "pyorc's",
            ),
            rows=table,
        ),
    )  # fmt: skip


def _events(rows: int) -> pa.Table:
    """Return sorted delete events of one bucket and a few write ids."""
    steps = np.random.default_rng(1).integers(1, 20, rows)
    return pa.table(
        {
            "write_id": np.sort(np.arange(rows) % _WRITE_IDS) + 1,
            "bucket": np.full(rows, _BUCKET, np.int32),
            "row_id": np.cumsum(steps),
            "deleted_by": np.full(rows, _WRITE_IDS + 1),
        }
    )


def _writing(write: Callable[[], bytes]) -> Contender:
    def run(_: int) -> None:
        write()

    return Contender(run=run)


def _by_pyorc(events: pa.Table, codec: str) -> bytes:
    buffer = BytesIO()
    with pyorc.Writer(buffer, _SCHEMA, compression=_CODECS[codec]) as writer:
        for batch in events.to_batches(_BATCH):
            columns = [column.to_pylist() for column in batch.columns]
            writer.writerows(zip(repeat(2), *columns, repeat(None)))
        *last, _ = (column[-1].as_py() for column in events.columns)
        writer.set_user_metadata(
            **{
                "hive.acid.key.index": f"{','.join(map(str, last))};".encode(),
                "hive.acid.stats": f"0,0,{len(events)}".encode(),
                "hive.acid.version": b"2",
            }
        )
    return buffer.getvalue()


def _columns(content: bytes) -> pa.Table:
    file = pa_orc.ORCFile(BytesIO(content))
    return file.read(columns=file.schema.names[:5])
