"""Rows that readers see in the tables that streaming clients write to, without Spark."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import pyorc

from acidsql.format.names import SIDE_FILE_SUFFIX, parse_directory
from acidsql.metastore.protocol import Metastore
from acidsql.scan.streaming import last_length


def committed_rows(metastore: Metastore, name: str, root: Path) -> list[tuple[Any, ...]]:
    """Return the committed rows as a reader with a new snapshot sees them, sorted by text; the name
    of the partition comes last.

    Args:
        metastore: the metastore.
        name: of a table of the database ``default`` into which rows are only inserted.
        root: its directory.
    """
    seen = metastore.valid_write_ids("default", name, metastore.valid_txns())
    found: list[tuple[Any, ...]] = []
    for path in root.rglob("bucket_*"):
        if path.name.endswith(SIDE_FILE_SUFFIX) or parse_directory(path.parent.name) is None:
            continue
        content = complete(path)
        for _, _, _, _, write_id, row in pyorc.Reader(BytesIO(content)) if content else ():
            if seen.is_valid(write_id):
                part = str(path.parent.parent.relative_to(root))
                found.append((*row, part) if part != "." else tuple(row))
    return sorted(found, key=repr)


def complete(path: Path) -> bytes:
    """Return a bucket file up to the length in its side file."""
    content = path.read_bytes()
    side = path.with_name(path.name + SIDE_FILE_SUFFIX)
    return content[: last_length(side.read_bytes())] if side.exists() else content
