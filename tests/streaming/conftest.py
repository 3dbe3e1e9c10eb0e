"""Tables of an embedded metastore, and the rows that are committed in them, without Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from acidsql.metastore.embedded.store import EmbeddedMetastore
from acidsql.metastore.model import Column, Table
from acidsql.streaming import StreamingConnection, connect
from tests.streaming.committed_rows import committed_rows


class Shelf:
    """Metastore with tables in one directory.

    Attributes:
        home: the directory.
        metastore: of the tests, beside those of the connections.
    """

    def __init__(self, home: Path) -> None:
        self.home = home
        self.path = home / "metastore.sqlite"
        self.metastore = EmbeddedMetastore(str(self.path), synchronous=False)

    def create(self, columns: str, *, partitioned: str = "", **definition: Any) -> str:
        """Create a table ``t``; columns are given as ``id int; s string``."""
        (self.home / "t").mkdir()
        table = Table(
            database="default",
            name="t",
            columns=_columns(columns),
            partition_columns=_columns(partitioned),
            **{
                "location": f"file:{self.home}/t",
                "properties": {"transactional": "true", "bucketing_version": "2"},
                **definition,
            },
        )
        self.metastore.create_table(table)
        return "t"

    def connect(self, **options: Any) -> StreamingConnection:
        """Connect to ``t``."""
        given = {"table": "t", "synchronous": False, "time_zone": "Europe/Berlin", **options}
        return connect(metastore=self.path, **given)

    def tree(self) -> list[str]:
        """Return the paths of the files below the table, sorted; hidden ones are left out."""
        root = self.home / "t"
        found = (str(p.relative_to(root)) for p in root.rglob("*") if p.is_file())
        return sorted(path for path in found if not path.rpartition("/")[2].startswith("_"))

    def rows(self) -> list[tuple[Any, ...]]:
        """Return the committed rows as a reader with a new snapshot sees them, sorted by text; the
        name of the partition comes last.
        """
        return committed_rows(self.metastore, "t", self.home / "t")


def _columns(text: str) -> tuple[Column, ...]:
    pairs = (column.strip().split(" ", 1) for column in text.split(";") if column.strip())
    return tuple(
        Column(
            name=name, type=declared.removesuffix(" not null"), nullable="not null" not in declared
        )
        for name, declared in pairs
    )


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    """Yield an empty metastore."""
    made = Shelf(tmp_path)
    yield made
    made.metastore.close()


Make = Callable[..., StreamingConnection]
