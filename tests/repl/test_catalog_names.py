"""Names for completion are looked up once until a statement runs."""

from __future__ import annotations

from acidsql.repl.catalog_names import CatalogNames
from acidsql.repl.runner import Result

_TABLES = Result(
    columns=("namespace", "tableName"),
    numeric=(False, False),
    rows=(("default", "Pet"), ("default", "own")),
    truncated=False,
)
_COLUMNS = Result(
    columns=("col_name",), numeric=(False,), rows=(("id",), ("name",)), truncated=False
)


def test_names_are_asked_for_once_and_only_of_what_there_is() -> None:
    asked = []

    def ask(statement: str) -> Result:
        asked.append(statement)
        if statement == "SHOW COLUMNS IN gone.pet":
            raise RuntimeError("no such table")
        return _TABLES if statement == "SHOW TABLES" else _COLUMNS

    names = CatalogNames(ask)
    assert names.tables() == ("Pet", "own")
    assert names.columns("pet") == names.columns("`PET`") == ("id", "name")
    assert names.columns("of_a_with") == ()
    assert names.columns("gone.pet") == names.columns("gone.pet") == ()
    assert names.tables() == ("Pet", "own")
    assert asked == ["SHOW TABLES", "SHOW COLUMNS IN pet", "SHOW COLUMNS IN gone.pet"]
    names.forget()
    assert names.columns("pet") == ("id", "name")
    assert asked[3:] == ["SHOW TABLES", "SHOW COLUMNS IN pet"]


def test_functions_stay_until_they_may_be_others() -> None:
    asked = []

    def ask(statement: str) -> Result:
        asked.append(statement)
        rows = ((statement.lower().replace(" ", "_"),),)
        return Result(columns=("name",), numeric=(False,), rows=rows, truncated=False)

    names = CatalogNames(ask)
    assert names.functions() == names.functions() == ("show_functions",)
    names.forget()
    assert names.databases() == names.databases() == ("show_databases",)
    names.functions()
    names.forget(functions=True)
    names.functions()
    assert asked == ["SHOW FUNCTIONS", "SHOW DATABASES", "SHOW FUNCTIONS"]


def test_constraints_and_tags_are_asked_for_once() -> None:
    asked = []

    def ask(statement: str) -> Result:
        asked.append(statement)
        if statement == "SHOW TAGS IN gone":
            raise RuntimeError("no such table")
        if statement.startswith("SHOW TAGS"):
            columns: tuple[str, ...] = ("tag", "version")
            rows: tuple[tuple[str, ...], ...] = (("audit", "3"), ("end", "7"))
        else:
            columns = ("col_name", "data_type", "comment")
            rows = (
                ("id", "int", ""),
                ("# Constraints", "", ""),
                ("cheap", "CHECK (id < 9)", ""),
            )
        numeric = (False,) * len(columns)
        return Result(columns=columns, numeric=numeric, rows=rows, truncated=False)

    names = CatalogNames(ask)
    assert names.constraints("pet") == names.constraints("`PET`") == ("cheap",)
    assert names.tags("pet") == names.tags("Pet") == ("audit", "end")
    assert names.tags("gone") == ()
    assert asked == ["DESCRIBE EXTENDED pet", "SHOW TAGS IN pet", "SHOW TAGS IN gone"]
    names.forget()
    assert names.tags("pet") == ("audit", "end")
