"""Tables as Arrow has them, from Python alone: without Spark and without a JVM."""

from __future__ import annotations

from acidsql.arrow_reader.reading import arrow_batches, read_arrow

__all__ = ["arrow_batches", "read_arrow"]
