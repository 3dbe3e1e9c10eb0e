"""Streaming ingest: write rows to ACID tables from pure Python, without Spark or a JVM.

This is Hive's Streaming Data Ingest V2 in Python; see ``connect``.
"""

from __future__ import annotations

from acidsql.streaming.connecting import connect
from acidsql.streaming.connection import StreamingConnection
from acidsql.streaming.options import Committed, OnError
from acidsql.streaming.records import Rejection
from acidsql.streaming.writers import DelimitedWriter, JsonWriter, RegexWriter, RowWriter

__all__ = [
    "Committed",
    "DelimitedWriter",
    "JsonWriter",
    "OnError",
    "RegexWriter",
    "Rejection",
    "RowWriter",
    "StreamingConnection",
    "connect",
]
