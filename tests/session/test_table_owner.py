"""Claims on table directories when processes meet: no Spark, a real embedded metastore."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from acidsql.errors import AcidAnalysisError, AcidLookupError
from acidsql.format.names import OWNER_FILE
from acidsql.metastore.embedded.store import EmbeddedMetastore
from acidsql.metastore.model import Column, Table
from acidsql.session.table_owner import check_owner, check_unowned
from tests.metastore.local_files import LocalFiles, session_without_spark


@pytest.fixture
def metastore(tmp_path: Path) -> Iterator[EmbeddedMetastore]:
    store = EmbeddedMetastore(str(tmp_path / "metastore.sqlite"))
    yield store
    store.close()


@pytest.fixture
def table(metastore: EmbeddedMetastore, tmp_path: Path) -> Table:
    (tmp_path / "t").mkdir()
    made = Table(
        database="default",
        name="t",
        columns=(Column(name="id", type="int"),),
        location=f"file:{tmp_path}/t",
    )
    metastore.create_table(made)
    return made


class Late(LocalFiles):
    """Files of a process that sleeps before it writes its claim, while something else happens."""

    def __init__(self, meanwhile: Callable[[], object]) -> None:
        super().__init__()
        self.meanwhile = meanwhile

    def write(self, path: str, content: bytes) -> None:
        self.meanwhile()
        super().write(path, content)


def test_processes_may_claim_a_directory_at_once(
    metastore: EmbeddedMetastore, table: Table, tmp_path: Path
) -> None:
    other = session_without_spark(metastore, LocalFiles())
    check_owner(session_without_spark(metastore, Late(lambda: check_owner(other, table))), table)
    assert (tmp_path / "t" / OWNER_FILE).exists()


def test_a_claim_in_the_making_is_waited_for(
    metastore: EmbeddedMetastore, table: Table, tmp_path: Path
) -> None:
    """Another process has created the file, and writes its content only after a moment."""
    check_owner(session_without_spark(metastore, LocalFiles()), table)
    claim = tmp_path / "t" / OWNER_FILE
    content = claim.read_bytes()
    claim.write_bytes(b"")
    inode = claim.stat().st_ino

    def fill() -> None:
        time.sleep(0.1)
        claim.write_bytes(content)

    with ThreadPoolExecutor(1) as other:
        filled = other.submit(fill)
        check_owner(session_without_spark(metastore, LocalFiles()), table)
        filled.result()
    assert (claim.read_bytes(), claim.stat().st_ino) == (content, inode)


def test_an_incomplete_claim_of_a_killed_process_is_replaced(
    metastore: EmbeddedMetastore, table: Table, tmp_path: Path
) -> None:
    check_owner(session_without_spark(metastore, LocalFiles()), table)
    claim = tmp_path / "t" / OWNER_FILE
    content = claim.read_bytes()
    claim.write_bytes(content[:10])
    check_owner(session_without_spark(metastore, LocalFiles()), table)
    assert claim.read_bytes() == content


def test_a_late_claim_of_a_dropped_table_holds_up_no_other_one(
    metastore: EmbeddedMetastore, table: Table
) -> None:
    def drop_and_create() -> None:
        metastore.drop_table("default", "t")
        metastore.create_table(replace(table, owner="new"))

    check_owner(session_without_spark(metastore, Late(drop_and_create)), table)
    check_owner(session_without_spark(metastore, LocalFiles()), table)


def test_a_late_claim_of_a_dropped_table_does_not_stay(
    metastore: EmbeddedMetastore, table: Table, tmp_path: Path
) -> None:
    late = Late(lambda: metastore.drop_table("default", "t"))
    with pytest.raises(AcidLookupError, match="TABLE_OR_VIEW_NOT_FOUND"):
        check_owner(session_without_spark(metastore, late), table)
    assert not (tmp_path / "t" / OWNER_FILE).exists()


def test_a_claim_of_a_dropped_table_is_void(metastore: EmbeddedMetastore, table: Table) -> None:
    """Its process may have been killed before it could take the claim back."""
    session = session_without_spark(metastore, LocalFiles())
    check_owner(session, table)
    with pytest.raises(AcidAnalysisError, match="TABLE_OF_ANOTHER_METASTORE"):
        check_unowned(session, table.location)
    metastore.drop_table("default", "t")
    check_unowned(session, table.location)


def test_a_claim_that_the_metastore_does_not_know_yet_holds(
    metastore: EmbeddedMetastore, table: Table
) -> None:
    """Its file was restored from a copy that is older than the table."""
    session = session_without_spark(metastore, LocalFiles())
    copy = metastore.database.path + "_copy"
    metastore.drop_table("default", "t")
    with metastore.database.read() as connection:
        Path(copy).write_bytes(connection.serialize())
    metastore.create_table(table)
    check_owner(session, table)
    restored = EmbeddedMetastore(copy)
    with pytest.raises(AcidAnalysisError, match="TABLE_OF_ANOTHER_METASTORE"):
        check_unowned(session_without_spark(restored, LocalFiles()), table.location)
    restored.close()
