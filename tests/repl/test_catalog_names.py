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
