"""Changes of the catalog that a commit makes, with their files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from acidsql.errors import TransactionStateError
from acidsql.metastore.catalog_changes import (
    AddPartitions,
    AlterPartitions,
    AlterTable,
    CatalogChange,
    DeleteLoadedFiles,
    DropPartitions,
    DropTable,
    LoadedFile,
    RenamePartition,
    RenameTable,
    ShowTable,
)
from acidsql.metastore.model import Column, Partition, Table
from acidsql.metastore.protocol import Metastore
from tests.metastore.exclusive import lock_table
from tests.metastore.local_files import LocalFiles

FILE = "delta_0000001_0000001_0000/bucket_00000"


@pytest.fixture
def made(metastore: Metastore, employee: Table, france: Partition, spain: Partition) -> Table:
    """Create a table with two partitions, each with a file."""
    metastore.create_table(employee, [france, spain])
    for partition in (france, spain):
        path = local(f"{partition.location}/{FILE}")
        path.parent.mkdir(parents=True)
        path.write_text("rows")
    return metastore.table("default", "employee")


def local(uri: str) -> Path:
    return Path("/" + uri.removeprefix("file:").lstrip("/"))


def locked(metastore: Metastore, table: Table) -> int:
    """Open a transaction that holds an EXCLUSIVE lock on a table."""
    txn_id = metastore.open_txn("ann", "host")
    metastore.allocate_write_id(txn_id, table.database, table.name)
    lock_table(metastore, txn_id, table)
    return txn_id


def commit(metastore: Metastore, table: Table, *changes: CatalogChange) -> None:
    txn_id = locked(metastore, table)
    metastore.prepare_commit(txn_id, changes)
    metastore.commit_txn(txn_id)


def with_comment(table: Table) -> Table:
    return replace(table, properties={**table.properties, "comment": "changed"})


def test_definition_of_a_table(metastore: Metastore, made: Table) -> None:
    commit(metastore, made, AlterTable(before=made, after=with_comment(made)))
    assert metastore.table("default", "employee").properties["comment"] == "changed"


def test_table_moves_with_its_new_name(
    metastore: Metastore, made: Table, france: Partition
) -> None:
    location = made.location.replace("employee", "staff")
    rename = RenameTable(table=made, database="default", name="staff", location=location)
    commit(metastore, made, rename)
    assert metastore.tables("default") == ("staff",)
    assert metastore.table("default", "staff").location == location
    (place,) = metastore.partitions("default", "staff", [france.values])
    assert local(f"{place.location}/{FILE}").read_text() == "rows"
    assert not local(made.location).exists()


def test_dropped_table_takes_its_files(metastore: Metastore, made: Table) -> None:
    commit(metastore, made, DropTable(table=made))
    assert metastore.tables("default") == ()
    assert not local(made.location).exists()


def test_partitions_are_added_altered_renamed_and_dropped(
    metastore: Metastore, made: Table, france: Partition, spain: Partition
) -> None:
    malta = replace(france, values=("Malta", "1"), location=f"{made.location}/land=Malta/year=1")
    commit(metastore, made, AddPartitions(table=made, partitions=(malta,)))
    assert {malta.values, france.values, spain.values} == {
        p.values for p in metastore.partitions("default", "employee")
    }
    narrow = replace(malta, columns=(Column(name="id", type="bigint"),))
    commit(metastore, made, AlterPartitions(table=made, before=(malta,), after=(narrow,)))
    (found,) = metastore.partitions("default", "employee", [malta.values])
    assert [c.name for c in found.columns or ()] == ["id"]
    renamed = replace(france, values=("Gaul", "1"), location=f"{made.location}/land=Gaul/year=1")
    commit(metastore, made, RenamePartition(table=made, before=france, after=renamed))
    (found,) = metastore.partitions("default", "employee", [renamed.values])
    assert local(f"{found.location}/{FILE}").read_text() == "rows"
    assert not local(france.location).exists()
    commit(metastore, made, DropPartitions(table=made, partitions=(malta, spain)))
    assert [p.values for p in metastore.partitions("default", "employee")] == [renamed.values]
    assert not local(spain.location).exists()


def test_loaded_file_is_deleted_unless_it_has_changed(
    metastore: Metastore, made: Table, tmp_path: Path
) -> None:
    files = []
    for name in ("loaded", "changed"):
        (tmp_path / name).write_text(name)
        version = LocalFiles().version(f"file:{tmp_path / name}")
        assert version is not None
        files.append(
            LoadedFile(path=f"file:{tmp_path / name}", size=version.size, modified=version.modified)
        )
    (tmp_path / "changed").write_text("changed since")
    commit(metastore, made, DeleteLoadedFiles(files=tuple(files)))
    assert [p.name for p in tmp_path.iterdir() if p.is_file() and "metastore" not in p.name] == [
        "changed"
    ]


def test_aborted_transaction_changes_nothing(
    metastore: Metastore, made: Table, france: Partition
) -> None:
    location = made.location.replace("employee", "staff")
    changes: tuple[CatalogChange, ...] = (
        AlterTable(before=made, after=with_comment(made)),
        RenamePartition(
            table=made,
            before=france,
            after=replace(
                france, values=("Gaul", "1"), location=f"{made.location}/land=Gaul/year=1"
            ),
        ),
        RenameTable(table=made, database="default", name="staff", location=location),
    )
    for change in changes:
        txn_id = locked(metastore, made)
        metastore.prepare_commit(txn_id, [change])
        metastore.abort_txn(txn_id)
        assert metastore.tables("default") == ("employee",)
        after = metastore.table("default", "employee")
        assert after.properties.get("comment") == made.properties.get("comment")
        assert france.values in metastore.partition_values("default", "employee")
        (place,) = metastore.partitions("default", "employee", [france.values])
        assert local(f"{place.location}/{FILE}").read_text() == "rows"


def test_change_of_another_is_not_taken_back(metastore: Metastore, made: Table) -> None:
    """A paused statement comes back when its lock is lost, and somebody has altered the table."""
    txn_id = locked(metastore, made)
    metastore.prepare_commit(txn_id, [AlterTable(before=made, after=with_comment(made))])
    theirs = replace(made, properties={**made.properties, "comment": "theirs"})
    metastore.alter_table(theirs)
    metastore.abort_txn(txn_id)
    assert metastore.table("default", "employee").properties["comment"] == "theirs"


def test_lost_lock_is_found_before_anything_changes(
    metastore: Metastore, made: Table, advance: Callable[[float], None], reap: Callable[[], object]
) -> None:
    txn_id = locked(metastore, made)
    advance(400)
    reap()
    with pytest.raises(TransactionStateError, match="TXN_ABORTED"):
        metastore.prepare_commit(txn_id, [DropTable(table=made)])
    assert metastore.tables("default") == ("employee",)
    assert local(made.location).exists()


@pytest.mark.parametrize("highest", [0, 7])
def test_table_of_a_transaction_goes_with_it(
    metastore: Metastore, employee: Table, highest: int
) -> None:
    new = replace(employee, name="new", location=employee.location.replace("employee", "new"))
    for commits in (False, True):
        txn_id = metastore.open_txn("ann", "host")
        staged = metastore.stage_table(txn_id, new, highest)
        write_id = metastore.allocate_write_id(txn_id, staged.database, staged.name)
        assert write_id > highest
        local(f"{new.location}/delta").mkdir(parents=True)
        if commits:
            metastore.prepare_commit(txn_id, [ShowTable(staged=staged, name="new")])
            metastore.commit_txn(txn_id)
        else:
            metastore.abort_txn(txn_id)
        assert metastore.tables("default") == (("new",) if commits else ())
        assert local(new.location).exists() is commits
