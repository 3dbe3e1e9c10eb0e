"""Databases and tables in the catalog of a metastore."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from acidsql.errors import AcidAnalysisError, AcidLookupError
from acidsql.metastore.catalog_changes import RecordWrites
from acidsql.metastore.model import (
    Column,
    CompactionType,
    FileFormat,
    LockRequest,
    LockState,
    LockType,
    Operation,
    Partition,
    Table,
    TableType,
)
from acidsql.metastore.protocol import Metastore
from tests.metastore.subjects import EMBEDDED, EMPLOYEE, Subject, only


def assert_kept(found: Table, given: Table, kind: str) -> None:
    """Assert that a table is as it was given."""
    if kind != "embedded":
        # Servers stamp it, and say of every table what it is.
        assert found.created == pytest.approx(time.time(), abs=300)
        given = replace(
            given,
            created=found.created,
            properties={
                "transactional": "true",
                "transactional_properties": "default",
                "bucketing_version": "2",
                **given.properties,
            },
        )
    assert found == given


def test_default_database_exists(metastore: Metastore, kind: str, subject: Subject) -> None:
    assert metastore.databases() == ("default",)
    # The embedded store leaves the place to Spark.
    expected = "" if kind == "embedded" else subject.warehouse
    assert metastore.database_location("default") == expected
    assert metastore.tables("default") == ()


def test_databases_come_and_go(metastore: Metastore, subject: Subject) -> None:
    place = f"{subject.warehouse}/sales.db"
    metastore.create_database("Sales", place, "what we sold")
    metastore.create_database("archive", f"{subject.warehouse}/archive.db")
    assert metastore.databases() == ("archive", "default", "sales")
    assert metastore.database_location("SALES") == place
    metastore.drop_database("sAles")
    assert metastore.databases() == ("archive", "default")


def test_properties_of_a_database_change_one_by_one(metastore: Metastore, subject: Subject) -> None:
    place = f"{subject.warehouse}/sales.db"
    metastore.create_database("sales", place, "sold", {"a": "1", "b": "2"})
    metastore.change_database_properties("SALES", {"a": "3", "b": None, "c": "4", "d": None})
    assert metastore.database_properties("sales") == {"a": "3", "c": "4"}
    assert metastore.database_location("sales") == place
    with pytest.raises(AcidAnalysisError, match="SCHEMA_NOT_FOUND"):
        metastore.change_database_properties("none", {"a": "1"})


def test_database_that_exists_is_refused(metastore: Metastore) -> None:
    with pytest.raises(AcidAnalysisError, match=r"\[SCHEMA_ALREADY_EXISTS\] database 'default'"):
        metastore.create_database("DEFAULT", "")


def test_database_with_tables_is_not_dropped(metastore: Metastore, employee: Table) -> None:
    metastore.create_database("db", "")
    metastore.create_table(replace(employee, database="db"))
    with pytest.raises(AcidAnalysisError, match="SCHEMA_NOT_EMPTY"):
        metastore.drop_database("db")
    assert metastore.databases() == ("db", "default")


def test_default_database_is_not_dropped(metastore: Metastore) -> None:
    with pytest.raises(AcidAnalysisError):
        metastore.drop_database("default")
    assert metastore.databases() == ("default",)


def test_unknown_database(metastore: Metastore, employee: Table) -> None:
    with pytest.raises(AcidLookupError, match="SCHEMA_NOT_FOUND"):
        metastore.tables("nope")
    with pytest.raises(AcidLookupError, match="SCHEMA_NOT_FOUND"):
        metastore.drop_database("nope")
    with pytest.raises(AcidLookupError, match="SCHEMA_NOT_FOUND"):
        metastore.database_location("nope")
    with pytest.raises(AcidLookupError, match="SCHEMA_NOT_FOUND"):
        metastore.create_table(replace(employee, database="nope"))


def test_table_comes_back_as_it_was_given(metastore: Metastore, kind: str, employee: Table) -> None:
    metastore.create_table(employee)
    assert_kept(metastore.table("default", "employee"), employee, kind)


def test_names_of_tables_are_kept_in_lower_case_and_those_of_columns_as_they_were_written(
    metastore: Metastore, employee: Table
) -> None:
    columns = (
        Column(name="ID", type="struct<Street:string>", nullable=False),
        Column(name="Culmen Length (mm)", type="decimal(5,2)", comment="beak"),
        Column(name="İd", type="array<char(3)>"),
    )
    partitions = (Column(name="LAND", type="string"),)
    metastore.create_table(
        replace(
            employee,
            database="DEFAULT",
            name="BIG_Table",
            columns=columns,
            partition_columns=partitions,
        )
    )
    table = metastore.table("Default", "Big_tablE")
    assert (table.database, table.name, table.full_name) == (
        "default",
        "big_table",
        "default.big_table",
    )
    assert (table.columns, table.partition_columns) == (columns, partitions)
    assert not [key for key in table.properties if key.startswith("spark.")]
    assert table.partition_name(["x"]) == "land=x"
    assert metastore.tables("dEFAULT") == ("big_table",)


def test_a_column_gets_another_case_and_another_name(metastore: Metastore, employee: Table) -> None:
    metastore.create_table(employee)
    first, *others = employee.columns
    for name in ("Staff Number", "STAFF number", "staff number", "Id"):
        columns = (replace(first, name=name), *others)
        metastore.alter_table(replace(metastore.table("default", employee.name), columns=columns))
        assert metastore.table("default", employee.name).columns == columns


def test_name_of_a_table_that_hive_cannot_have(
    metastore: Metastore, kind: str, employee: Table
) -> None:
    table = replace(employee, name="Größe")
    if kind == "embedded":
        metastore.create_table(table)
        assert metastore.tables("default") == ("größe",)
        return
    with pytest.raises(AcidAnalysisError, match="INVALID_OBJECT"):
        metastore.create_table(table)
    assert metastore.tables("default") == ()


@pytest.mark.parametrize("name", ["../x", "a/b", "a\0b", "a\nb", "a\n", "", ".", "a b", "a-b"])
@only(*EMBEDDED)  # a server has rules of its own
def test_names_that_are_no_words(metastore: Metastore, employee: Table, name: str) -> None:
    for table in (
        replace(employee, name=name),
        replace(employee, name=name, table_type=TableType.VIEW, view_text="SELECT 1"),
    ):
        with pytest.raises(AcidAnalysisError, match="INVALID_SCHEMA_OR_RELATION_NAME"):
            metastore.create_table(table)
    with pytest.raises(AcidAnalysisError, match="INVALID_SCHEMA_OR_RELATION_NAME"):
        metastore.create_database(name, "file:/warehouse/x.db")
    assert metastore.tables("default") == ()
    assert metastore.databases() == ("default",)


def test_views_are_tables_with_a_text(metastore: Metastore) -> None:
    view = Table(
        database="default",
        name="v",
        columns=(Column(name="id", type="bigint"),),
        table_type=TableType.VIEW,
        view_text="SELECT id FROM employee",
        properties={"view.database": "other"},
    )
    metastore.create_table(view)
    found = metastore.find_table("default", "V")
    assert found is not None
    assert replace(found, created=0) == view
    changed = replace(view, view_text="SELECT 1", columns=())
    metastore.alter_table(changed)
    assert replace(metastore.table("default", "v"), created=0) == changed


def test_table_name_that_is_taken_is_refused(
    metastore: Metastore, kind: str, employee: Table
) -> None:
    metastore.create_table(employee)
    with pytest.raises(AcidAnalysisError, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
        metastore.create_table(replace(employee, name="EMPLOYEE", columns=employee.columns[:1]))
    assert_kept(metastore.table("default", "employee"), employee, kind)


def test_unknown_table(metastore: Metastore, employee: Table) -> None:
    assert metastore.find_table("default", "nope") is None
    assert metastore.find_table("nope", "nope") is None
    for call in (metastore.table, metastore.drop_table, metastore.partitions):
        with pytest.raises(
            AcidLookupError, match=r"\[TABLE_OR_VIEW_NOT_FOUND\] table or view 'default.nope'"
        ):
            call("default", "nope")
    with pytest.raises(AcidLookupError, match="TABLE_OR_VIEW_NOT_FOUND"):
        metastore.alter_table(replace(employee, name="nope"))


def test_alter_replaces_the_definition_and_keeps_the_rest(
    metastore: Metastore, kind: str, employee: Table, france: Partition
) -> None:
    metastore.create_table(employee)
    metastore.add_partitions("default", "employee", [france])
    metastore.seed_write_id("default", "employee", 8)
    kept = metastore.table("default", "employee")
    columns = (
        replace(kept.columns[0], nullable=True, comment=None),
        replace(kept.columns[1], default="2.10"),
        kept.columns[2],
        Column(name="z", type="int", nullable=False, default="7"),
    )
    properties = {"transactional": "true", "a": "b"}
    if kind != "embedded":
        properties["transactional_properties"] = "default"
    altered = replace(kept, columns=columns, properties=properties)
    metastore.alter_table(altered)
    assert metastore.table("default", "employee") == altered
    assert metastore.partition_values("default", "employee") == (france.values,)
    assert metastore.next_write_id("default", "employee") == 8
    metastore.alter_table(kept)
    assert metastore.table("default", "employee") == kept


def test_place_of_a_table_is_taken(metastore: Metastore, employee: Table) -> None:
    metastore.create_table(employee)
    for place in (employee.location, f"{employee.location}/land=de", employee.location[:-9]):
        found = metastore.table_at(place, "default")
        assert found is not None
        assert (found.full_name, found.location) == ("default.employee", employee.location)
    for place in (f"{employee.location}2", f"{employee.location[:-1]}", "file:/elsewhere"):
        assert metastore.table_at(place, "default") is None


def test_table_made_again_after_a_drop_starts_anew(
    metastore: Metastore, kind: str, employee: Table, france: Partition
) -> None:
    plain = replace(employee, partition_columns=())
    metastore.create_table(employee)
    metastore.add_partitions("default", "employee", [france])
    txn_id = metastore.open_txn("ann", "host")
    assert metastore.allocate_write_id(txn_id, "default", "employee") == 1
    request = LockRequest(
        database="default",
        table="employee",
        partition=None,
        type=LockType.EXCL_WRITE,
        operation=Operation.UPDATE,
        dynamic_partitions=True,
    )
    metastore.lock(txn_id, [request])
    metastore.commit_txn(txn_id)
    dropper = metastore.open_txn("ann", "host")
    exclusive = replace(
        request, type=LockType.EXCLUSIVE, operation=Operation.SELECT, dynamic_partitions=False
    )
    metastore.lock(dropper, [exclusive])
    metastore.request_compaction("default", "employee", None, CompactionType.MAJOR)

    metastore.drop_table("Default", "Employee")
    assert metastore.find_table("default", "employee") is None
    metastore.commit_txn(dropper)
    assert metastore.locks() == ()
    assert metastore.compactions() == ()

    metastore.create_table(plain)
    assert metastore.partitions("default", "employee") == ()
    last = 1 if kind.startswith("4.") else 0  # Hive 4 does not give a name's write ids again
    assert metastore.next_write_id("default", "employee") == last + 1
    snapshot = metastore.valid_write_ids("default", "employee", metastore.valid_txns())
    assert snapshot.to_string() == f"default.employee:{last}:9223372036854775807::"


def test_location_of_another_table_is_not_held(
    metastore: Metastore, kind: str, employee: Table, france: Partition
) -> None:
    metastore.create_table(employee)
    metastore.add_partitions("default", "employee", [france])
    written = metastore.table("default", "employee")
    txn_id = metastore.open_txn("ann", "host")
    metastore.allocate_write_id(txn_id, "default", "employee")
    known = frozenset({france.values} if kind == "embedded" else ())
    with metastore.held_location(written, txn_id) as held:
        assert held == known
    metastore.abort_txn(txn_id)
    with metastore.held_location(written, txn_id) as held:
        assert held == known
    metastore.drop_table("default", "employee")
    with metastore.held_location(written, txn_id) as held:
        assert held == frozenset()
    if kind != "embedded":
        time.sleep(1.1)  # a server has times in seconds
    metastore.create_table(employee)
    with metastore.held_location(written, txn_id) as held:
        assert held is None


def test_buckets_and_format_are_kept(metastore: Metastore, kind: str, employee: Table) -> None:
    bucketed = replace(
        employee,
        properties={
            "transactional": "true",
            "transactional_properties": "insert_only",
            "bucketing_version": "2",
        },
        bucket_columns=("ID", "größe"),
        num_buckets=8,
        file_format=FileFormat.TEXT,
        serde_properties={"field.delim": "\x02"},
    )
    metastore.create_table(bucketed)
    kept = metastore.table("default", "employee")
    assert_kept(kept, replace(bucketed, bucket_columns=("id", "größe")), kind)
    assert (kept.insert_only, kept.bucketing_version) == (True, 2)


def test_a_table_without_properties_is_full_acid_and_hashes_as_of_old() -> None:
    plain = replace(EMPLOYEE, properties={})
    assert (plain.insert_only, plain.bucketing_version) == (False, 1)


def test_renamed_table_keeps_all_but_its_name(
    metastore: Metastore, kind: str, employee: Table, france: Partition, subject: Subject
) -> None:
    metastore.create_database("archive", f"{subject.warehouse}/archive.db")
    metastore.create_table(employee)
    metastore.add_partitions("default", "employee", [france])
    txn = metastore.open_txn("ann", "host")
    metastore.allocate_write_id(txn, "default", "employee")
    metastore.commit_txn(txn)
    metastore.rename_table("default", "Employee", "ARCHIVE", "Staff")
    assert metastore.find_table("default", "employee") is None
    renamed = replace(employee, database="archive", name="staff")
    partition = france
    if kind != "embedded":
        # A server takes the files of a table in its default place along.
        place = f"{subject.warehouse}/archive.db/staff"
        renamed = replace(renamed, location=place)
        partition = replace(france, location=f"{place}/land=France/year=1999")
    assert_kept(metastore.table("archive", "staff"), renamed, kind)
    assert metastore.partitions("archive", "staff") == (partition,)
    assert metastore.next_write_id("archive", "staff") == 2


def test_ordinals_are_given_once(metastore: Metastore, employee: Table) -> None:
    key, *others = employee.columns
    key = replace(key, identity="GENERATED ALWAYS AS IDENTITY (START WITH 1 INCREMENT BY 1)")
    table = replace(employee, columns=(key, *others))
    metastore.create_table(table)
    assert metastore.table("default", "employee").columns == table.columns
    assert metastore.reserve_ordinals("default", "Employee", 0) == 0

    def write(_: int) -> list[int]:
        txn_id = metastore.open_txn("ann", "host")
        request = LockRequest(
            database="default",
            table="employee",
            partition=None,
            type=LockType.SHARED_READ,
            operation=Operation.INSERT,
        )
        state = metastore.lock(txn_id, [request])
        while state is LockState.WAITING:
            time.sleep(0.01)
            state = metastore.check_lock(txn_id)
        first = metastore.reserve_ordinals("default", "employee", 3)
        metastore.abort_txn(txn_id)  # gives nothing back
        return [first, first + 1, first + 2]

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(write, range(12)))
    assert sorted(n for own in found for n in own) == list(range(36))
    # A change of the definition keeps them, and so does another name.
    metastore.alter_table(replace(table, properties={**table.properties, "a": "b"}))
    metastore.rename_table("default", "employee", "default", "staff")
    assert metastore.reserve_ordinals("default", "staff", 0) == 36
    assert metastore.table("default", "staff").properties.keys() >= {"a"}
    assert not any("ordinals" in key for key in metastore.table("default", "staff").properties)


def test_a_table_is_told_from_one_that_has_its_name_later(
    metastore: Metastore, kind: str, employee: Table
) -> None:
    metastore.create_table(employee)
    first = metastore.table_identity("Default", "Employee")
    metastore.rename_table("default", "employee", "default", "staff")
    # Servers of Hive 3 have no numbers of tables: a table is its name and the second of its making.
    numbered = not kind.startswith("3")
    assert (metastore.table_identity("default", "staff") == first) is numbered
    if not numbered:
        time.sleep(1.1)
    other = replace(employee, location=f"{employee.location}2", created=employee.created + 7)
    metastore.create_table(other)
    assert metastore.table_identity("default", "employee") != first
    with pytest.raises(AcidLookupError, match="TABLE_OR_VIEW_NOT_FOUND"):
        metastore.table_identity("default", "nope")


def test_table_is_not_renamed_over_another(metastore: Metastore, employee: Table) -> None:
    metastore.create_table(employee)
    metastore.create_table(replace(employee, name="staff", location=f"{employee.location}2"))
    with pytest.raises(AcidAnalysisError, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
        metastore.rename_table("default", "employee", "default", "staff")
    with pytest.raises(AcidLookupError, match="TABLE_OR_VIEW_NOT_FOUND"):
        metastore.rename_table("default", "nope", "default", "other")
    with pytest.raises(AcidLookupError, match="SCHEMA_NOT_FOUND"):
        metastore.rename_table("default", "employee", "nope", "other")
    assert metastore.tables("default") == ("employee", "staff")


def test_table_without_partitions_may_be_written(
    metastore: Metastore, kind: str, employee: Table
) -> None:
    plain = replace(employee, partition_columns=())
    metastore.create_table(plain)
    txn_id = metastore.open_txn("ann", "host")
    metastore.allocate_write_id(txn_id, "default", "employee")
    written = (Partition(values=(), location=plain.location),)
    metastore.prepare_commit(txn_id, [RecordWrites(table=plain, written=written)])
    metastore.commit_txn(txn_id)
    assert_kept(metastore.table("default", "employee"), plain, kind)
