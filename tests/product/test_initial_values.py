"""ADD COLUMN … DEFAULT: rows that are there have the value, and files are not rewritten."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

import acidsql
from acidsql.errors import AcidAnalysisError
from tests.product.conditions import condition

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark


def arrow(lab: Lab, table: str, **options: Any) -> list[tuple[Any, ...]]:
    found = acidsql.read_arrow(
        f"default.{table}", metastore=lab.session.settings.metastore, **options
    )
    return sorted((tuple(row.values()) for row in found.to_pylist()), key=repr)


@pytest.mark.slow
def test_old_rows_have_the_default(lab: Lab) -> None:
    t = lab.create("id int", partitioned="p int")
    lab.insert(t, "(1, 1), (2, 1), (3, 2)")
    files = lab.tree(t)
    lab.sql(f"ALTER TABLE {t} ADD COLUMN c int NOT NULL DEFAULT 2 + 3")
    assert lab.tree(t) == files
    assert lab.rows(t) == [(1, 5, 1), (2, 5, 1), (3, 5, 2)]
    lab.sql(f"INSERT INTO {t} (id, p) VALUES (4, 2)")
    lab.sql(f"ALTER TABLE {t} ALTER COLUMN c SET DEFAULT 6")
    lab.sql(f"INSERT INTO {t} (id, p) VALUES (5, 3)")
    lab.sql(f"UPDATE {t} SET c = 7 WHERE id = 2")
    rows = [(1, 5, 1), (2, 7, 1), (3, 5, 2), (4, 5, 2), (5, 6, 3)]
    assert lab.rows(t) == arrow(lab, t) == rows
    assert lab.sql(f"SELECT id FROM {t} WHERE c = 5 ORDER BY id") == [(1,), (3,), (4,)]
    assert lab.sql(f"SELECT id FROM {t} WHERE c IS NULL OR c > 5 ORDER BY id") == [(2,), (5,)]
    assert lab.sql(f"SELECT min(c), max(c), count(c), sum(c) FROM {t}") == [(5, 7, 5, 28)]
    assert arrow(lab, t, columns=["id"], filter=[("c", "=", 5)]) == [(1,), (3,), (4,)]
    assert arrow(lab, t, columns=["id"], filter=[("c", ">", 5)]) == [(2,), (5,)]
    assert lab.sql(f"CHECK TABLE {t} FULL") == []
    for partition in ("p=1", "p=2"):
        for kind in ("minor", "major"):
            lab.compact(t, kind, partition)
            assert lab.rows(t) == arrow(lab, t) == rows
    assert condition(lab, f"INSERT INTO {t} VALUES (6, NULL, 1)") == "NOT_NULL_ASSERT_VIOLATION"


def test_a_compaction_writes_the_values(lab: Lab) -> None:
    t = lab.create("id int", values="(1), (2)")
    lab.sql(f"ALTER TABLE {t} ADD COLUMN c string DEFAULT 'x'")
    lab.insert(t, "(3, NULL)")
    lab.sql(f"DELETE FROM {t} WHERE id = 2")
    lab.compact(t, "major")
    rows = [(1, "x"), (3, None)]
    assert lab.rows(t) == rows
    (base,) = [name for name in lab.directories(t) if name.startswith("base_")]
    (file,) = sorted((lab.root(t) / base).glob("bucket_*"))
    assert lab.file(file).row_fields == ("id", "c")


VALUES = {
    "tinyint": ("1", 1),
    "bigint": ("5000000000", 5000000000),
    "decimal(7,3)": ("1.5", Decimal("1.500")),
    "float": ("0.5", 0.5),
    "double": ("1e300", 1e300),
    "boolean": ("true", True),
    "date": ("DATE'2024-02-29'", date(2024, 2, 29)),
    "string": ("concat('a', 'b')", "ab"),
    "varchar(3)": ("'abc'", "abc"),
    "char(3)": ("'a'", "a  "),
}


def test_values_of_all_types(lab: Lab) -> None:
    t = lab.create("id int", values="(1)")
    columns = [f"c{i} {kind} DEFAULT {text}" for i, (kind, (text, _)) in enumerate(VALUES.items())]
    lab.sql(f"ALTER TABLE {t} ADD COLUMNS ({', '.join(columns)})")
    expected = (1, *(value for _, value in VALUES.values()))
    assert lab.rows(t) == arrow(lab, t) == [expected]
    lab.sql(f"INSERT INTO {t} (id) VALUES (2)")
    assert lab.rows(t)[1] == (2, *expected[1:])
    lab.sql(f"UPDATE {t} SET id = 3 WHERE c0 = 1 AND id = 1")
    lab.compact(t, "major")
    assert lab.rows(t) == [(2, *expected[1:]), (3, *expected[1:])]


def test_types_and_names_may_change_later(lab: Lab) -> None:
    t = lab.create("id int", values="(1)")
    lab.sql(f"ALTER TABLE {t} ADD COLUMN c int DEFAULT 5")
    lab.sql(f"ALTER TABLE {t} CHANGE c d bigint")
    lab.sql(f"ALTER TABLE {t} ALTER COLUMN d DROP DEFAULT")
    assert lab.rows(t) == arrow(lab, t) == [(1, 5)]
    assert lab.sql(f"SELECT * FROM {t} VERSION AS OF 1") == [(1,)]
    assert lab.frame(f"SELECT * FROM {t} VERSION AS OF 2").columns == ["id", "c"]
    assert lab.sql(f"SELECT id, d FROM table_changes('{t}', 1)") == [(1, 5)]
    lab.sql(f"CREATE TABLE {t}_copy CLONE {t}")
    assert lab.rows(f"{t}_copy") == [(1, 5)]
    lab.sql(f"DROP TABLE {t}_copy")
    lab.sql(f"DELETE FROM {t}")
    lab.sql(f"RESTORE TABLE {t} TO VERSION AS OF 1")
    assert lab.rows(t) == [(1, 5)]


def test_insert_only_tables_have_it_too(lab: Lab) -> None:
    t = lab.create("id int", properties={"transactional_properties": "insert_only"}, values="(1)")
    lab.sql(f"ALTER TABLE {t} ADD COLUMN c int DEFAULT 5")
    lab.sql(f"INSERT INTO {t} VALUES (2, NULL)")
    assert lab.rows(t) == arrow(lab, t) == [(1, 5), (2, None)]
    lab.compact(t, "major")
    assert lab.rows(t) == [(1, 5), (2, None)]


def test_a_refusal_has_the_statements_that_do_it(lab: Lab) -> None:
    t = lab.create("id int", values="(1)")
    text = f"ALTER TABLE {t} ADD COLUMN c timestamp NOT NULL DEFAULT TIMESTAMP'2024-01-01 00:00:00'"
    with pytest.raises(AcidAnalysisError) as caught:
        lab.sql(text)
    _, _, steps = str(caught.value).partition(": run ")
    for statement in steps.split("; "):
        lab.sql(statement)
    assert lab.rows(t, "id, CAST(c AS STRING)") == [(1, "2024-01-01 00:00:00")]
    lab.sql(f"INSERT INTO {t} (id) VALUES (2)")
    assert lab.rows(t, "id, CAST(c AS STRING)")[1] == (2, "2024-01-01 00:00:00")
