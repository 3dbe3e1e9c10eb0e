from __future__ import annotations

import ast
import copy
import inspect
import pickle
import re
from collections.abc import Iterator
from pathlib import Path

import pyspark.errors
import pytest

from acidsql import errors
from acidsql.errors import AcidParseError, AcidSqlError, AcidTextError
from acidsql.metastore.failures import table_not_found
from acidsql.syntax import parse
from tests import spark_conditions

_IS_SPARK_3 = pyspark.__version__.startswith("3.")
_ROW = re.compile(r"^    (?P<lines>[│├└─ ]*)(?P<name>\w+) +(?P<others>-|\w+(?:, \w+)*)  +\S")
CLASSES: dict[str, type[AcidSqlError]] = {
    name: kind
    for name, kind in vars(errors).items()
    if inspect.isclass(kind) and issubclass(kind, AcidSqlError)
}


def tree() -> Iterator[tuple[str, str | None, list[str]]]:
    """The tree in the docstring: a class, the one that it hangs on, its other bases."""
    above: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        if found := _ROW.match(line):
            depth = len(found["lines"]) // 4
            others = [] if found["others"] == "-" else found["others"].split(", ")
            yield found["name"], above[depth - 1] if depth else None, others
            above[depth:] = [found["name"]]


def test_the_tree_in_the_docstring_is_that_of_the_classes() -> None:
    drawn = {name: [*([parent] if parent else []), *others] for name, parent, others in tree()}
    assert drawn == {n: [base.__name__ for base in c.__bases__] for n, c in CLASSES.items()}


def made(kind: type[AcidSqlError]) -> AcidSqlError:
    if issubclass(kind, AcidTextError):
        return kind("unexpected 'x'", line=2, column=3, context="a x\n  ^", offset=9, fragment="x")
    return kind("LOCK_TIMEOUT", "a lock was not granted", {"table": "db.t"})


def told(error: AcidSqlError) -> list[object]:
    getters = ("Condition", "ErrorClass", "SqlState", "Message", "MessageParameters")
    return [str(error), repr(error), *(getattr(error, f"get{name}")() for name in getters)]


@pytest.mark.parametrize("kind", CLASSES.values(), ids=CLASSES)
def test_an_error_is_the_same_after_a_journey(kind: type[AcidSqlError]) -> None:
    error = made(kind)
    travelled = pickle.loads(pickle.dumps(error))
    assert type(travelled) is kind
    assert told(travelled) == told(copy.copy(error)) == told(error)
    assert len(pickle.dumps(error)) < 500  # not PySpark's conditions


def test_what_an_error_tells() -> None:
    error = made(errors.LockTimeoutError)
    assert told(error) == [
        "[LOCK_TIMEOUT] a lock was not granted",
        "LockTimeoutError('LOCK_TIMEOUT', 'a lock was not granted')",
        "LOCK_TIMEOUT",
        "LOCK_TIMEOUT",
        "55P03",
        "[LOCK_TIMEOUT] a lock was not granted",
        {"table": "db.t"},
    ]
    assert error.getQueryContext() == []


def test_a_condition_that_is_not_ours_has_no_sqlstate() -> None:
    assert errors.WriteJobError("SOMETHING_ELSE", "it failed").getSqlState() is None


@pytest.mark.skipif(_IS_SPARK_3, reason="PySpark 3.5 has no such method")
def test_what_pyspark_adds_to_its_errors_can_be_asked() -> None:
    ask = getattr(made(errors.AcidAnalysisError), "getBreakingChangeInfo", None)
    assert ask is None or ask() is None  # since PySpark 4.1


def test_a_parse_error_is_one_of_pysparks() -> None:
    with pytest.raises(pyspark.errors.ParseException) as caught:
        parse("ALTER TABLE t\nCOMPACT 5 now")
    error = caught.value
    assert (error.getSqlState(), error.getMessageParameters()) == ("42601", {})
    contexts = error.getQueryContext()
    if _IS_SPARK_3:
        assert contexts == []
        return
    (place,) = contexts
    assert isinstance(place, pyspark.errors.QueryContext)
    assert place.contextType() is pyspark.errors.QueryContextType.SQL
    assert (place.fragment(), place.startIndex(), place.stopIndex()) == ("5", 22, 22)
    assert (place.objectType(), place.objectName(), place.callSite()) == ("", "", "")
    assert place.summary() == "== SQL (line 2, position 9) ==\nCOMPACT 5 now\n        ^\n"


@pytest.mark.skipif(_IS_SPARK_3, reason="PySpark 3.5 has no query contexts")
def test_the_end_of_a_statement_is_no_fragment() -> None:
    with pytest.raises(AcidParseError) as caught:
        parse("ALTER TABLE t COMPACT -- which?\n")
    (place,) = caught.value.getQueryContext()
    assert (place.fragment(), place.startIndex(), place.stopIndex()) == ("", 21, 21)


def test_a_table_that_is_missing_is_an_analysis_exception_with_sparks_parameters() -> None:
    with pytest.raises(pyspark.errors.AnalysisException) as caught:
        raise table_not_found("Db", "t")
    assert isinstance(caught.value, errors.AcidLookupError)
    assert caught.value.getSqlState() == "42P01"
    assert caught.value.getMessageParameters() == {"relationName": "`db`.`t`"}


def main_condition(node: ast.expr) -> str:
    """Return a condition without its subclass; empty where a variable has it."""
    first = node.values[0] if isinstance(node, ast.JoinedStr) else node
    return str(first.value).partition(".")[0] if isinstance(first, ast.Constant) else ""


def named_parameters() -> Iterator[tuple[str, set[str]]]:
    """The conditions of errors that acidsql makes with parameters, and the names of these."""
    for path in Path(errors.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and len(node.args) > 2:
                kind, (condition, _, values, *_) = ast.unparse(node.func), node.args
                if kind in CLASSES and isinstance(values, ast.Dict):
                    names = {ast.literal_eval(key) for key in values.keys if key}
                    yield main_condition(condition), names


@pytest.mark.skipif(_IS_SPARK_3, reason="some have other names in Spark 3.5")
def test_parameters_of_sparks_conditions_have_sparks_names() -> None:
    found = list(named_parameters())
    assert {"LOCK_TIMEOUT", "TABLE_OR_VIEW_NOT_FOUND", "COLUMN_NOT_FOUND"} <= {n for n, _ in found}
    for name, given in found:
        if name in spark_conditions.conditions():
            assert given <= spark_conditions.parameters(name), name
