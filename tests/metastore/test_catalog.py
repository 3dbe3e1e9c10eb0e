from __future__ import annotations

from dataclasses import replace

import pytest

from acidsql.errors import AcidAnalysisError, AcidLookupError
from acidsql.metastore.protocol import (
    Column,
    CompactionType,
    FileFormat,
    LockRequest,
    LockType,
    Metastore,
    Operation,
    Partition,
    Table,
    TableType,
)

EMPLOYEE = Table(
    database="default",
    name="employee",
    columns=(
        Column(name="id", type="bigint", nullable=False, comment="the key"),
        Column(name="größe", type="decimal(5,2)", default="1.80"),
        Column(name="address", type="struct<Street:string,no:int>"),
    ),
    partition_columns=(Column(name="land", type="string"), Column(name="year", type="int")),
    location="hdfs://h/wh/employee",
    properties={"transactional": "true", "Ключ": "Wert \N{GRINNING FACE}"},
    owner="Ann",
    created=1_700_000_000,
)


def test_default_database_exists(metastore: Metastore) -> None:
    assert metastore.databases() == ("default",)
    assert metastore.database_location("default") == ""
    assert metastore.tables("default") == ()


def test_databases_come_and_go(metastore: Metastore) -> None:
    metastore.create_database("Sales", "file:/wh/sales.db", "what we sold")
    metastore.create_database("archive", "file:/wh/archive.db")
    assert metastore.databases() == ("archive", "default", "sales")
    assert metastore.database_location("SALES") == "file:/wh/sales.db"
    metastore.drop_database("sAles")
    assert metastore.databases() == ("archive", "default")


def test_database_that_exists_is_refused(metastore: Metastore) -> None:
    with pytest.raises(AcidAnalysisError, match=r"\[SCHEMA_ALREADY_EXISTS\] database 'default'"):
        metastore.create_database("DEFAULT", "")


def test_database_with_tables_is_not_dropped(metastore: Metastore) -> None:
    metastore.create_database("db", "")
    metastore.create_table(replace(EMPLOYEE, database="db"))
    with pytest.raises(AcidAnalysisError, match="SCHEMA_NOT_EMPTY"):
        metastore.drop_database("db")
    assert metastore.databases() == ("db", "default")


def test_default_database_is_not_dropped(metastore: Metastore) -> None:
    with pytest.raises(AcidAnalysisError):
        metastore.drop_database("default")
    assert metastore.databases() == ("default",)


def test_unknown_database(metastore: Metastore) -> None:
    with pytest.raises(AcidLookupError, match="SCHEMA_NOT_FOUND"):
        metastore.tables("nope")
    with pytest.raises(AcidLookupError, match="SCHEMA_NOT_FOUND"):
        metastore.drop_database("nope")
    with pytest.raises(AcidLookupError, match="SCHEMA_NOT_FOUND"):
        metastore.database_location("nope")
    with pytest.raises(AcidLookupError, match="SCHEMA_NOT_FOUND"):
        metastore.create_table(replace(EMPLOYEE, database="nope"))


def test_table_comes_back_as_it_was_given(metastore: Metastore) -> None:
    metastore.create_table(EMPLOYEE)
    assert metastore.table("default", "employee") == EMPLOYEE


def test_names_are_kept_in_lower_case_and_found_in_any(metastore: Metastore) -> None:
    metastore.create_table(
        replace(
            EMPLOYEE,
            database="DEFAULT",
            name="GRÖSSE",
            columns=(Column(name="ID", type="struct<Street:string>"),),
            partition_columns=(Column(name="LAND", type="string"),),
        )
    )
    table = metastore.table("Default", "Grösse")
    assert (table.database, table.name, table.full_name) == ("default", "grösse", "default.grösse")
    assert table.columns == (Column(name="id", type="struct<Street:string>"),)
    assert table.partition_columns == (Column(name="land", type="string"),)
    assert metastore.tables("dEFAULT") == ("grösse",)


def test_views_are_tables_with_a_text(metastore: Metastore) -> None:
    view = Table(
        database="default",
        name="v",
        columns=(Column(name="id", type="bigint"),),
        table_type=TableType.VIEW,
        view_text="SELECT id FROM employee",
    )
    metastore.create_table(view)
    assert metastore.find_table("default", "V") == view


def test_table_name_that_is_taken_is_refused(metastore: Metastore) -> None:
    metastore.create_table(EMPLOYEE)
    with pytest.raises(AcidAnalysisError, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
        metastore.create_table(replace(EMPLOYEE, name="EMPLOYEE", columns=()))
    assert metastore.table("default", "employee") == EMPLOYEE


def test_unknown_table(metastore: Metastore) -> None:
    assert metastore.find_table("default", "nope") is None
    assert metastore.find_table("nope", "nope") is None
    for call in (metastore.table, metastore.drop_table, metastore.partitions):
        with pytest.raises(
            AcidLookupError, match=r"\[TABLE_OR_VIEW_NOT_FOUND\] table or view 'default.nope'"
        ):
            call("default", "nope")
    with pytest.raises(AcidLookupError, match="TABLE_OR_VIEW_NOT_FOUND"):
        metastore.alter_table(replace(EMPLOYEE, name="nope"))


def test_alter_replaces_the_definition_and_keeps_the_rest(metastore: Metastore) -> None:
    metastore.create_table(EMPLOYEE)
    partition = Partition(values=("de", "2024"), location="x")
    metastore.add_partitions("default", "employee", [partition])
    metastore.seed_write_id("default", "employee", 8)
    altered = replace(
        EMPLOYEE, columns=(*EMPLOYEE.columns, Column(name="z", type="int")), properties={"a": "b"}
    )
    metastore.alter_table(altered)
    assert metastore.table("default", "employee") == altered
    assert metastore.partitions("default", "employee") == (partition,)
    assert metastore.next_write_id("default", "employee") == 8


def test_partitions_are_sorted_and_added_once(metastore: Metastore) -> None:
    metastore.create_table(EMPLOYEE)
    first = Partition(values=("de", "2024"), location="hdfs://h/a")
    second = Partition(values=("Åland", "__HIVE_DEFAULT_PARTITION__"), location="hdfs://h/b")
    third = Partition(values=("de", "10"), location="hdfs://h/c")
    metastore.add_partitions("default", "Employee", [first, second])
    metastore.add_partitions("default", "employee", [replace(first, location="other"), third])
    assert metastore.partitions("default", "employee") == (third, first, second)


def test_partition_needs_a_value_for_each_column(metastore: Metastore) -> None:
    metastore.create_table(EMPLOYEE)
    with pytest.raises(AcidAnalysisError):
        metastore.add_partitions("default", "employee", [Partition(values=("de",), location="x")])
    assert metastore.partitions("default", "employee") == ()


def test_partitions_are_dropped_all_or_none(metastore: Metastore) -> None:
    metastore.create_table(EMPLOYEE)
    kept = Partition(values=("de", "2023"), location="a")
    metastore.add_partitions(
        "default", "employee", [kept, Partition(values=("de", "2024"), location="b")]
    )
    with pytest.raises(AcidLookupError, match="PARTITION_NOT_FOUND"):
        metastore.drop_partitions("default", "employee", [("de", "2024"), ("de", "2025")])
    assert len(metastore.partitions("default", "employee")) == 2
    metastore.drop_partitions("default", "employee", [("de", "2024")])
    assert metastore.partitions("default", "employee") == (kept,)


def test_table_made_again_after_a_drop_starts_anew(metastore: Metastore) -> None:
    plain = replace(EMPLOYEE, partition_columns=())
    metastore.create_table(EMPLOYEE)
    metastore.add_partitions("default", "employee", [Partition(values=("d", "1"), location="x")])
    txn_id = metastore.open_txn("ann", "host")
    assert metastore.allocate_write_id(txn_id, "default", "employee") == 1
    request = LockRequest(
        database="default",
        table="employee",
        partition=None,
        type=LockType.EXCL_WRITE,
        operation=Operation.UPDATE,
    )
    metastore.lock(txn_id, [request])
    metastore.commit_txn(txn_id)
    dropper = metastore.open_txn("ann", "host")
    metastore.lock(dropper, [replace(request, type=LockType.EXCLUSIVE, operation=Operation.SELECT)])
    metastore.request_compaction("default", "employee", None, CompactionType.MAJOR)

    metastore.drop_table("Default", "Employee")
    assert metastore.find_table("default", "employee") is None
    assert metastore.locks() == ()
    assert metastore.compactions() == ()
    metastore.commit_txn(dropper)

    metastore.create_table(plain)
    assert metastore.partitions("default", "employee") == ()
    assert metastore.next_write_id("default", "employee") == 1
    snapshot = metastore.valid_write_ids("default", "employee", metastore.valid_txns())
    assert snapshot.to_string() == "default.employee:0:9223372036854775807::"


BUCKETED = replace(
    EMPLOYEE,
    name="bucketed",
    properties={"transactional_properties": "insert_only", "bucketing_version": "2"},
    bucket_columns=("ID", "größe"),
    num_buckets=8,
    file_format=FileFormat.TEXT,
    serde_properties={"field.delim": "\x02"},
)


def test_buckets_and_format_are_kept(metastore: Metastore) -> None:
    metastore.create_table(BUCKETED)
    kept = metastore.table("default", "bucketed")
    assert kept == replace(BUCKETED, bucket_columns=("id", "größe"))
    assert (kept.insert_only, kept.bucketing_version) == (True, 2)


def test_a_table_without_properties_is_full_acid_and_hashes_as_of_old() -> None:
    plain = replace(EMPLOYEE, properties={})
    assert (plain.insert_only, plain.bucketing_version) == (False, 1)


def test_renamed_table_keeps_all_but_its_name(metastore: Metastore) -> None:
    metastore.create_database("archive", "file:/wh/archive.db")
    metastore.create_table(EMPLOYEE)
    metastore.add_partitions("default", "employee", [FRANCE])
    txn = metastore.open_txn("ann", "host")
    metastore.allocate_write_id(txn, "default", "employee")
    metastore.commit_txn(txn)
    metastore.rename_table("default", "Employee", "ARCHIVE", "Staff")
    assert metastore.find_table("default", "employee") is None
    renamed = replace(EMPLOYEE, database="archive", name="staff")
    assert metastore.table("archive", "staff") == renamed
    assert metastore.partitions("archive", "staff") == (FRANCE,)
    assert metastore.next_write_id("archive", "staff") == 2


def test_table_is_not_renamed_over_another(metastore: Metastore) -> None:
    metastore.create_table(EMPLOYEE)
    metastore.create_table(replace(EMPLOYEE, name="staff"))
    with pytest.raises(AcidAnalysisError, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
        metastore.rename_table("default", "employee", "default", "staff")
    with pytest.raises(AcidLookupError, match="TABLE_OR_VIEW_NOT_FOUND"):
        metastore.rename_table("default", "nope", "default", "other")
    with pytest.raises(AcidLookupError, match="SCHEMA_NOT_FOUND"):
        metastore.rename_table("default", "employee", "nope", "other")
    assert metastore.tables("default") == ("employee", "staff")


FRANCE = Partition(values=("France", "1999"), location="hdfs://h/wh/employee/land=France/year=1999")
SPAIN = Partition(values=("Spain", "2000"), location="hdfs://h/wh/employee/land=Spain/year=2000")


def test_only_the_partitions_asked_for(metastore: Metastore) -> None:
    metastore.create_table(EMPLOYEE)
    metastore.add_partitions("default", "employee", [SPAIN, FRANCE])
    assert metastore.partition_values("default", "employee") == (FRANCE.values, SPAIN.values)
    wanted = [SPAIN.values, ("Malta", "2001")]
    assert metastore.partitions("default", "employee", wanted) == (SPAIN,)
    assert metastore.partitions("default", "employee", []) == ()


def test_partitions_get_a_location_and_columns_of_their_own(metastore: Metastore) -> None:
    metastore.create_table(EMPLOYEE)
    metastore.add_partitions("default", "employee", [SPAIN, FRANCE])
    moved = replace(FRANCE, location="hdfs://h/far", columns=EMPLOYEE.columns[:1])
    metastore.alter_partitions("default", "employee", [moved])
    assert metastore.partitions("default", "employee") == (moved, SPAIN)


def test_no_partition_is_altered_if_one_is_missing(metastore: Metastore) -> None:
    metastore.create_table(EMPLOYEE)
    metastore.add_partitions("default", "employee", [FRANCE])
    with pytest.raises(AcidLookupError, match="PARTITION_NOT_FOUND"):
        metastore.alter_partitions("default", "employee", [replace(FRANCE, location="x:/y"), SPAIN])
    assert metastore.partitions("default", "employee") == (FRANCE,)


def test_renamed_partition(metastore: Metastore) -> None:
    metastore.create_table(EMPLOYEE)
    metastore.add_partitions("default", "employee", [FRANCE])
    metastore.rename_partition("default", "employee", FRANCE.values, SPAIN)
    assert metastore.partitions("default", "employee") == (SPAIN,)


def test_partition_is_not_renamed_over_another(metastore: Metastore) -> None:
    metastore.create_table(EMPLOYEE)
    metastore.add_partitions("default", "employee", [FRANCE, SPAIN])
    with pytest.raises(AcidAnalysisError, match="PARTITION_ALREADY_EXISTS"):
        metastore.rename_partition("default", "employee", FRANCE.values, SPAIN)
    with pytest.raises(AcidLookupError, match="PARTITION_NOT_FOUND"):
        metastore.rename_partition(
            "default", "employee", ("Malta", "1"), replace(SPAIN, values=("Malta", "2"))
        )
    assert metastore.partitions("default", "employee") == (FRANCE, SPAIN)
