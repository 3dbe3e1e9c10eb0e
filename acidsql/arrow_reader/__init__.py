"""Tables as Arrow has them, from pure Python: without Spark and without a JVM."""

from __future__ import annotations

from acidsql.arrow_reader.reading import arrow_batches, read_arrow

__all__ = ["arrow_batches", "read_arrow"]
