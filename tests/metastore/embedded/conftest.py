"""Fixtures of only the embedded metastore."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from acidsql.metastore.embedded.store import EmbeddedMetastore
from acidsql.metastore.protocol import Metastore
from tests.metastore.subjects import Subject, embedded_subject


@pytest.fixture
def subject(tmp_path: Path) -> Iterator[Subject]:
    """Yield only the embedded metastore."""
    with embedded_subject(tmp_path / "metastore.db") as embedded:
        yield embedded


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Return the path of its file."""
    return str(tmp_path / "metastore.db")


@pytest.fixture
def store(metastore: Metastore, tables: None) -> EmbeddedMetastore:  # noqa: ARG001
    """Return the embedded metastore with the tables of the suite."""
    assert isinstance(metastore, EmbeddedMetastore)
    return metastore
