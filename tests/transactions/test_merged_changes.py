"""Changes of the statements of a transaction, merged into those of its commit."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from acidsql.limits import limits
from acidsql.metastore.catalog_changes import AlterPartitions, CatalogChange, RecordWrites
from acidsql.metastore.history import RecordedStatement
from acidsql.metastore.model import Column, Partition, Table
from acidsql.transactions.merged_changes import merged, together
from acidsql.transactions.written import next_statement_id, recorded_writes

TABLES = [
    Table(
        database="db",
        name=name,
        columns=(Column(name="id", type="int"),),
        partition_columns=(Column(name="k", type="int"),),
        location=f"file:/w/{name}",
    )
    for name in ("t", "u")
]
INSERT = RecordedStatement(operation="INSERT", text="INSERT INTO t VALUES (1)")


def partition(number: int) -> Partition:
    return Partition(values=(str(number),), location=f"file:/w/t/k={number}")


statements = st.lists(st.tuples(st.integers(0, 1), st.frozensets(st.integers(0, 4))), max_size=6)


@given(statements)
def test_every_table_and_partition_occurs_once(made: list[tuple[int, frozenset[int]]]) -> None:
    changes: list[CatalogChange] = []
    for number, places in made:
        table = TABLES[number]
        changes.append(RecordWrites(table=table, written=tuple(map(partition, sorted(places)))))
    found = merged(changes)
    writes = {c.table.name: c.written for c in found if isinstance(c, RecordWrites)}
    assert len(found) == len(writes)
    for number, table in enumerate(TABLES):
        own = [places for n, places in made if n == number]
        if not own:
            assert table.name not in writes
            continue
        every = {number for places in own for number in places}
        assert {p.values for p in writes[table.name]} == {(str(n),) for n in every}
        assert len(writes[table.name]) == len(every)


def test_a_partition_is_altered_once_from_what_it_was() -> None:
    narrow = replace(partition(1), columns=(Column(name="id", type="int"),))
    alter = AlterPartitions(table=TABLES[0], before=(narrow,), after=(partition(1),))
    second = AlterPartitions(
        table=TABLES[0], before=(narrow, partition(2)), after=(partition(1), partition(2))
    )
    (found,) = merged([alter, second])
    assert isinstance(found, AlterPartitions)
    assert found.before == (narrow, partition(2))
    assert found.after == (partition(1), partition(2))


def test_partitions_that_are_written_to_get_the_columns_of_the_table() -> None:
    table = TABLES[0]
    narrow = replace(partition(1), columns=(Column(name="old", type="int"),))
    same = replace(partition(2), columns=table.columns)
    touched = [narrow, same, partition(3)]
    record, alter = recorded_writes(table, touched)
    assert record == RecordWrites(table=table, written=tuple(touched))
    assert alter == AlterPartitions(table=table, before=(narrow,), after=(partition(1),))
    widened = replace(table, columns=(*table.columns, Column(name="v", type="int")))
    _, alter = recorded_writes(widened, touched, before=table)
    assert isinstance(alter, AlterPartitions)
    assert [p.columns for p in alter.before] == [narrow.columns, table.columns, table.columns]
    assert alter.after == tuple(map(partition, (1, 2, 3)))


def test_the_text_of_several_statements_is_bounded() -> None:
    long = RecordedStatement(operation="UPDATE", text="UPDATE t SET v = '" + "x" * 3_000 + "'")
    assert together([long]) == long
    found = together([long, INSERT, long])
    assert found.operation == "TRANSACTION"
    assert found.text is not None
    assert len(found.text) == limits().statement_characters
    assert f";\n{INSERT.text};\nUPDATE" in found.text
    hidden = RecordedStatement(operation="INSERT")
    assert together([hidden, hidden]) == RecordedStatement(operation="TRANSACTION")


def test_statement_ids_count_on() -> None:
    assert next_statement_id([]) == 0
    names = {"/t/delta_0000005_0000005_0001", "/t/k=1/delete_delta_0000005_0000005_0007"}
    assert next_statement_id(names) == 8
