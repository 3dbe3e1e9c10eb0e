"""Read tables as Arrow tables from pure Python, without Spark or a JVM."""

from __future__ import annotations

from acidsql.arrow_reader.reading import arrow_batches, read_arrow

__all__ = ["arrow_batches", "read_arrow"]
