"""ORC's own reader and writer without Spark: what decoding and encoding a table costs at least.

Each call from Python handles thousands of rows, so the calls cost next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tpcds_bench.tables import CODEC

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

_ROWS = 4_096


def decode(spark: SparkSession, files: Sequence[Path]) -> None:
    """Decode all columns of ORC files."""
    for _ in _batches(spark, files, reuse=True):
        pass


def decoded(spark: SparkSession, files: Sequence[Path]) -> list[Any]:
    """Return all rows of ORC files with one schema, as ``VectorizedRowBatch``es in the JVM."""
    return list(_batches(spark, files, reuse=False))


def encode(spark: SparkSession, like: Path, batches: Iterable[Any], target: Path) -> None:
    """Write batches to a new ORC file with the schema of another one."""
    writer = _writer(spark, like, target)
    for batch in batches:
        writer.addRowBatch(batch)
    writer.close()


def transcode(spark: SparkSession, files: Sequence[Path], target: Path) -> None:
    """Decode ORC files with one schema, and write all their rows to a new one."""
    encode(spark, files[0], _batches(spark, files, reuse=True), target)


def _batches(spark: SparkSession, files: Sequence[Path], *, reuse: bool) -> Iterator[Any]:
    # Decimals of up to 18 digits as longs, as acidsql's own reader has them.
    version = _orc(spark, "TypeDescription$RowBatchVersion").valueOf("USE_DECIMAL64")
    for file in files:
        reader = _reader(spark, file)
        rows = reader.rows()
        try:
            batch = reader.getSchema().createRowBatch(version, _ROWS)
            while rows.nextBatch(batch):
                yield batch
                if not reuse:
                    batch = reader.getSchema().createRowBatch(version, _ROWS)
        finally:
            rows.close()
            reader.close()


def _reader(spark: SparkSession, file: Path) -> Any:
    files = _orc(spark, "OrcFile")
    return files.createReader(_path(spark, file), files.readerOptions(_conf(spark)))


def _writer(spark: SparkSession, like: Path, target: Path) -> Any:
    files = _orc(spark, "OrcFile")
    codec = _orc(spark, "CompressionKind").valueOf(CODEC.upper())
    reader = _reader(spark, like)
    options = files.writerOptions(_conf(spark)).setSchema(reader.getSchema()).compress(codec)
    reader.close()
    return files.createWriter(_path(spark, target), options.overwrite(True))


def _path(spark: SparkSession, file: Path) -> Any:
    jvm: Any = spark.sparkContext._jvm
    return jvm.org.apache.hadoop.fs.Path(file.as_uri())


def _conf(spark: SparkSession) -> Any:
    java: Any = spark.sparkContext._jsc
    return java.hadoopConfiguration()


def _orc(spark: SparkSession, name: str) -> Any:
    jvm: Any = spark.sparkContext._jvm
    return getattr(jvm.org.apache.orc, name)
