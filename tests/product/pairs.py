"""Pairs of sessions: the same statements over ACID tables and over plain ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import acidsql
from acidsql.errors import AcidSqlError
from acidsql.format.names import OWNER_FILE

Rows = list[tuple[Any, ...]]


@dataclass(frozen=True)
class Pair:
    """Two sessions, each in a database of its own: ACID tables, and plain ones of the same rows."""

    acid: SparkSession
    plain: SparkSession

    def frames(self, text: str, *args: Any, **frames: Any) -> tuple[DataFrame, DataFrame]:
        """Run a text over both kinds of tables; $db in it is the database."""
        return (
            acidsql.sql(self.acid, text.replace("$db", "query_acid"), *args, **frames),
            self.plain.sql(text.replace("$db", "query_plain"), *args, **frames),
        )

    def same(self, text: str, *args: Any, ordered: bool = False, **frames: Any) -> Rows:
        """Return the rows of a query; check that both kinds of tables give the same columns and
        rows.
        """
        acid, plain = self.frames(text, *args, **frames)
        assert columns(acid) == columns(plain), text
        found, order = rows(acid), list if ordered else by_text
        assert order(found) == order(rows(plain)), text
        return found

    def rows(self, text: str, *args: Any, **frames: Any) -> Rows:
        """Return the rows of a query over the ACID tables."""
        return rows(acidsql.sql(self.acid, text, *args, **frames))

    def refuse(self, text: str, condition: str) -> None:
        """Check that both kinds of tables raise the condition."""
        for run in (partial(acidsql.sql, self.acid), self.plain.sql):
            with pytest.raises((PySparkException, AcidSqlError), match=rf"\[{condition}\b"):
                run(text)

    def tree(self, table: str) -> list[str]:
        """Return everything below the directory of an ACID table, but the file that says whose it
        is.
        """
        root = Path(urlparse(acidsql.location(self.acid, table)).path)
        found = (path for path in root.rglob("*") if path.name != OWNER_FILE)
        return sorted(str(path.relative_to(root)) for path in found)


def rows(frame: DataFrame) -> Rows:
    """Return the rows of a frame as tuples."""
    return [tuple(row) for row in frame.collect()]


def by_text(found: Rows) -> Rows:
    """Return rows sorted by their text."""
    return sorted(found, key=repr)


def columns(frame: DataFrame) -> list[tuple[str, str]]:
    """Return name and type of each column."""
    return [(f.name, f.dataType.simpleString()) for f in frame.schema.fields]
