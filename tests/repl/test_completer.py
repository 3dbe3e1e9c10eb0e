"""Completion offers what may stand at the cursor."""

from __future__ import annotations

import pytest
from prompt_toolkit.completion import CompleteEvent, WordCompleter
from prompt_toolkit.document import Document

from acidsql.repl.completer import StatementCompleter


class Names:
    def databases(self) -> tuple[str, ...]:
        return ("default", "shop")

    def tables(self, database: str | None = None) -> tuple[str, ...]:
        return {"shop": ("till", "staff"), None: ("sales", "Stores", "employee")}.get(database, ())

    def functions(self) -> tuple[str, ...]:
        return ("!=", "row_number", "sum", "lower", "price")

    def columns(self, table: str) -> tuple[str, ...]:
        own = {
            "sales": ("id", "price", "sold at", "date"),
            "Stores": ("id", "city"),
            "x.far": ("ferry",),
        }
        return own.get(table, ())

    def constraints(self, table: str) -> tuple[str, ...]:
        return {"sales": ("cheap", "Sales key")}.get(table, ())

    def tags(self, table: str) -> tuple[str, ...]:
        return {"sales": ("audit", "year_end"), "Stores": ("opened",)}.get(table, ())


def completer(casing: str = "auto") -> StatementCompleter:
    return StatementCompleter(
        keywords={"SELECT", "SET", "FROM", "MERGE", "COMPACT", "IDENTIFIED", "ROLLUP", "DATE"},
        commands={
            "\\q": None,
            "\\timing": WordCompleter(["on", "off"]),
            "\\format": None,
        },
        names=Names(),
        casing=casing,
    )


def completions(marked: str, *, tab: bool = False, casing: str = "auto") -> list[str]:
    """Return the completions at ``|``, or at the end."""
    before, _, after = marked.partition("|")
    document = Document(before + after, len(before))
    found = completer(casing).get_completions(document, CompleteEvent(completion_requested=tab))
    return [completion.text for completion in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SEL", ["SELECT"]),
        ("sel", ["select"]),
        ("s", ["select", "show", "set", "start"]),
        ("SELECT * FROM ", ["sales", "Stores", "employee"]),
        ("SELECT * FROM s", ["sales", "Stores", "shop"]),
        ("SELECT * FROM shop.", ["till", "staff"]),
        ("SELECT * FROM shop.s", ["staff"]),
        ("SELECT * FROM sales, s", ["sales", "Stores", "shop"]),
        ("WITH mine AS (SELECT 1) SELECT * FROM m", ["mine"]),
        ("update\n emp", ["employee"]),
        ("DESCRIBE HISTORY emp", ["employee"]),
        ("DROP TABLE IF EXISTS emp", ["employee"]),
        ("describe h", ["history", "health"]),
        ("use ", ["default", "shop"]),
        ("SELECT * FROM sales JOIN ST", ["Stores"]),
        ("ALTER TABLE sales comp", ["compact"]),
        ("merge i", ["into"]),
        ("MERGE INTO sales AS t u", ["using"]),
        ("merge into sales using Stores on a = b when n", ["not"]),
        ("merge into sales using Stores on a = b when not m", ["matched"]),
        ("merge into sales using Stores on a = b when matched then u", ["update"]),
        ("select 1 from sales group b", ["by"]),
        ("select * from sales w", ["where"]),
        ("insert o", ["overwrite"]),
        ("explain sel", ["select"]),
        ("grant r", ["rollup"]),  # what is not known takes every keyword
        ("alter table sales drop con", ["constraint"]),
        ("ALTER TABLE sales DROP CONSTRAINT ", ["cheap", "`Sales key`", "IF"]),
        ("ALTER TABLE sales DROP CONSTRAINT c", ["cheap"]),
        ("ALTER TABLE sales DROP CONSTRAINT IF EXISTS c", ["cheap"]),
        ("ALTER TABLE Stores DROP CONSTRAINT c", []),
        ("ALTER TABLE sales DROP TAG a", ["audit"]),
        ("ALTER TABLE sales DROP TAG IF EXISTS y", ["year_end"]),
        ("ALTER TABLE sales ADD CO", ["COLUMNS", "CONSTRAINT"]),
        ("ALTER TABLE sales ADD PRIMARY k", ["key"]),
        ("SELECT * FROM sales VERSION AS OF '", ["audit", "year_end"]),
        ("select * from Stores s join sales version as of 'y", ["year_end"]),
        ("RESTORE TABLE Stores TO VERSION AS OF 'o", ["opened"]),
        ("SELECT 'FROM sales VERSION AS OF 'y", []),
        ("OPTIMIZE sales z", ["zorder"]),
        ("OPTIMIZE sales ZORDER b", ["by"]),
        ("INSERT INTO sales REPLACE w", ["where"]),
        ("INSERT WITH SCHEMA e", ["evolution"]),
        ("MERGE WITH s", ["schema"]),
        ("CREATE TABLE x (a INT GENERATED al", ["always"]),
        ("CREATE TABLE x (a INT GENERATED ALWAYS a", ["as"]),
        ("SELECT 'fr", []),
        ("SELECT 1 -- fr", []),
        ("SELECT ", []),
        ("", []),
        ("\\", ["\\format", "\\q", "\\timing"]),
        ("\\t", ["\\timing"]),
        ("\\timing o", ["on", "off"]),
        ("\\format sel", ["select"]),
        ("SELECT \\t", ["\\timing"]),
        ("SELECT '\\t", []),
    ],
)
def test_completions_of_the_word_before_the_cursor(text: str, expected: list[str]) -> None:
    assert completions(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT p| FROM sales", ["price"]),  # a function too, but once
        ("SELECT PR| FROM sales", ["price"]),
        ("SELECT s| FROM sales", ["`sold at`", "sales", "sum"]),
        ("SELECT da| FROM sales", ["date"]),  # a keyword too
        ("SELECT row_nu|", ["row_number"]),
        ("SELECT id, ROW_|", ["ROW_NUMBER"]),
        ("SELECT `so| FROM sales", []),
        ("SELECT i| FROM sales, Stores", ["id", "interval"]),
        ("SELECT c| FROM sales a JOIN Stores b", ["city", "case", "cast"]),
        ("SELECT b.| FROM sales a JOIN Stores b", ["id", "city"]),
        ("SELECT b.c| FROM sales a JOIN Stores b", ["city"]),
        ("SELECT * FROM sales shop JOIN Stores s ON sh|", ["shop"]),
        ("SELECT Stores.| FROM Stores", ["id", "city"]),
        ("SELECT far.f| FROM x.far", ["ferry"]),
        ("SELECT Stores.| FROM Stores b", []),
        ("DELETE FROM sales WHERE pr", ["price"]),
        ("UPDATE sales SET pr", ["price"]),
        ("INSERT INTO Stores (ci", ["city"]),
        ("SELECT sum(price) AS total FROM sales ORDER BY to", ["total"]),
        ("SELECT id FROM sales ORDER BY id DESC e", []),
        ("SELECT pr| FROM nosuch", ["price"]),
    ],
)
def test_columns_of_the_tables_that_the_statement_names(text: str, expected: list[str]) -> None:
    assert completions(text) == expected


def test_tab_after_a_blank_offers_columns() -> None:
    offered = completions("SELECT | FROM Stores", tab=True)
    assert offered[:4] == ["id", "city", "stores", "CASE"]
    assert "lower" not in offered  # there are hundreds of functions
    assert completions("merge |", tab=True) == ["into"]
    assert completions("SELECT | FROM Stores") == []


@pytest.mark.parametrize(
    ("casing", "typed", "keyword"),
    [("upper", "sel", "SELECT"), ("lower", "SEL", "select"), ("auto", "Sel", "SELECT")],
)
def test_case_of_keywords(casing: str, typed: str, keyword: str) -> None:
    assert completions(typed, casing=casing) == [keyword]


@pytest.mark.parametrize(
    ("text", "completed", "start"),
    [
        ("x; mer", "merge", -3),
        ("SELECT * FROM shop.ti", "till", -2),
        ("SELECT a.ci| FROM Stores a", "city", -2),
    ],
)
def test_a_completion_replaces_the_word(text: str, completed: str, start: int) -> None:
    before, _, after = text.partition("|")
    document = Document(before + after, len(before))
    (completion,) = completer().get_completions(document, CompleteEvent())
    assert (completion.text, completion.start_position) == (completed, start)
