"""Statements that cannot be parsed or resolved: they take no write id, and are in no history."""

from __future__ import annotations

import pytest

from acidsql.injection_points import Point
from acidsql.planning import prepared
from tests.injection import once
from tests.product.conditions import condition
from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

_MERGE = "MERGE INTO {t} USING (SELECT 1 AS id) AS s ON {t}.id = s.id"
_REFUSED = {
    "UPDATE {t} SET v = 1 WHER id = 1": "PARSE_SYNTAX_ERROR",
    "UPDATE {t} SET nope = 3": "UNRESOLVED_COLUMN.WITH_SUGGESTION",
    "UPDATE {t} SET v = array(1)": "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST",
    "UPDATE {t} SET v = (SELECT max(nope) FROM {t})": "UNRESOLVED_COLUMN.WITH_SUGGESTION",
    "UPDATE {t} SET v = 1 WHERE rand() < 2": "INVALID_NON_DETERMINISTIC_EXPRESSIONS",
    "DELETE FROM {t} WHERE nope = 1": "UNRESOLVED_COLUMN.WITH_SUGGESTION",
    "DELETE FROM {t} WHERE id IN (SELECT id FROM nowhere)": "TABLE_OR_VIEW_NOT_FOUND",
    "DELETE FROM {t} WHERE id = 1 RETURNING *": "PARSE_SYNTAX_ERROR",
    "INSERT INTO {t} VALUES (array(1), 2, 'p')": "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST",
    "INSERT INTO {t} VALUES (1)": "INSERT_COLUMN_ARITY_MISMATCH.NOT_ENOUGH_DATA_COLUMNS",
    "INSERT INTO {t} (id, nope) VALUES (1, 2)": "UNRESOLVED_COLUMN.WITH_SUGGESTION",
    "INSERT OVERWRITE {t} SELECT nope FROM {t}": "UNRESOLVED_COLUMN.WITH_SUGGESTION",
    "INSERT INTO {t} VALUES (1, 2, 'p') RETURNING *": "PARSE_SYNTAX_ERROR",
    "INSERT INTO {t} VALUES (1, 2, 'p') ON CONFLICT DO NOTHING": "PARSE_SYNTAX_ERROR",
    "FROM {t} INSERT INTO {t} SELECT nope, v, p": "UNRESOLVED_COLUMN.WITH_SUGGESTION",
    f"{_MERGE} WHEN MATCHED THEN UPDATE SET v = s.nope": "UNRESOLVED_COLUMN.WITH_SUGGESTION",
    f"{_MERGE} WHEN MATCHED AND rand() < 2 THEN DELETE": (
        "UNSUPPORTED_MERGE_CONDITION.NON_DETERMINISTIC"
    ),
    f"{_MERGE} WHEN NOT MATCHED THEN INSERT (id, nope) VALUES (1, 2)": (
        "UNRESOLVED_COLUMN.WITH_SUGGESTION"
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["flat", "partitioned"])
def test_what_cannot_be_resolved_is_in_no_history(lab: Lab, layout: str) -> None:
    if layout == "flat":
        t = lab.create("id int, v int, p string")
    else:
        t = lab.create("id int, v int", partitioned="p string")
    lab.sql(f"INSERT INTO {t} VALUES (1, 10, 'a'), (2, 20, 'b')")
    before = lab.state(t)
    if lab.spark.version >= "4":
        found = {text: condition(lab, text.format(t=t)) for text in _REFUSED}
        assert found == _REFUSED
    else:  # Spark 3.5 has other conditions for some of them
        for text in _REFUSED:
            condition(lab, text.format(t=t))
    assert lab.state(t) == before
    history = lab.frame(f"DESCRIBE HISTORY {t}")
    assert [(row.writeId, row.operation) for row in history.collect()] == [(1, "INSERT")]
    lab.sql(f"DELETE FROM {t} WHERE id = 1")
    assert lab.sql(f"SELECT id, v, p FROM {t}") == [(2, 20, "b")]
    assert lab.frame(f"DESCRIBE HISTORY {t}").first().writeId == 2


@pytest.mark.slow
def test_a_table_that_changes_in_between_is_analysed_again(lab: Lab, other: Lab) -> None:
    t, source = lab.create("id int, v int"), lab.create("id int")
    lab.sql(f"INSERT INTO {t} VALUES (1, 10), (2, 20)")
    lab.sql(f"INSERT INTO {source} VALUES (1)")
    with once(Point.BEFORE_WRITE_IDS) as plan:
        plan(lambda: other.sql(f"ALTER TABLE {source} ADD COLUMNS (w int)"))
        lab.sql(f"UPDATE {t} SET v = v + 1 WHERE id IN (SELECT id FROM {source})")
        plan(lambda: other.sql(f"ALTER TABLE {t} ADD COLUMNS (w int)"))
        lab.sql(f"INSERT INTO {t} (id) SELECT id + 2 FROM {source}")
    found = lab.sql(f"SELECT * FROM {t} ORDER BY id")
    assert found == [(1, 11, None), (2, 20, None), (3, None, None)]


@pytest.mark.slow
def test_a_statement_is_analysed_once(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    t = lab.create("id int, v int")
    lab.sql(f"INSERT INTO {t} VALUES (1, 10), (2, 20)")
    prepare, calls = prepared.prepare, []

    def counted(*args: object, **kwargs: object) -> prepared.Prepared:
        calls.append(args)
        return prepare(*args, **kwargs)  # type: ignore[arg-type]

    for module in ("row_level", "merge", "insert"):
        monkeypatch.setattr(f"acidsql.commands.{module}.prepare", counted)
    for text in (
        f"UPDATE {t} SET v = v + 1 WHERE id = 1",
        f"INSERT INTO {t} SELECT id + 2, v FROM {t}",
        f"MERGE INTO {t} USING (SELECT 1 AS id) AS s ON {t}.id = s.id WHEN MATCHED THEN DELETE",
        f"WITH c AS (SELECT id FROM {t} WHERE v = 11) DELETE FROM {t} "
        "WHERE id IN (SELECT id FROM c) OR id IN (SELECT id - 1 FROM c)",
    ):
        lab.sql(text)
        assert len(calls) == 1, text
        calls.clear()
    assert lab.sql(f"SELECT * FROM {t} ORDER BY id") == [(4, 20)]
