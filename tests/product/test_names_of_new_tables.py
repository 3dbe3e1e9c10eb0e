"""Names that new tables, views and databases may have, and old ones that have others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acidsql.metastore import failures
from tests.product.conditions import condition

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"


_WORDS = ("base_0000001", "delta_0000001_0000001_0000", "_orc_acid_version", "_acidsql_staging_1")
_NO_WORDS = {
    "parent": "../stolen",
    "slash": "a/b",
    "blank": "a b",
    "blanks at the ends": " a ",
    "NUL": "a\0b",
    "line": "a\nb",
    "line at the end": "a\n",
    "quote": "a'b",
    "backquote": "a``b",
    "percent": "a%2Fb",
    "colon": "a:b",
    "hidden": ".hive-staging",
    "combining": "e\u0301",
    "right to left": "a\u202eb",
    "emoji": "\U0001f600",
    "dotted capital": "\u0130",  # two characters in lower case
    "long": "n" * 253,
    "long in bytes": "\u00e9" * 127,
    "empty": "",
}


@pytest.mark.sample("parent", "slash", "NUL", "long", "empty")
@pytest.mark.parametrize("name", _NO_WORDS.values(), ids=_NO_WORDS)
def test_a_name_must_be_a_word(lab: Lab, name: str) -> None:
    t = lab.create("id int", values="(1)")
    before = sorted(path.name for path in lab.root(t).parent.parent.iterdir())
    for text in (
        f"CREATE TABLE `{name}` (id INT) {ACID}",
        f"CREATE TABLE `{name}` {ACID} AS SELECT id FROM {t}",
        f"CREATE VIEW `{name}` AS SELECT id FROM {t}",
        f"CREATE DATABASE `{name}`",
        f"ALTER TABLE {t} RENAME TO `{name}`",
    ):
        assert condition(lab, text) == "INVALID_SCHEMA_OR_RELATION_NAME"
    assert sorted(path.name for path in lab.root(t).parent.parent.iterdir()) == before
    assert lab.rows(t) == [(1,)]


@pytest.mark.sample("_acidsql_staging_1", "longest")
@pytest.mark.parametrize("name", [*_WORDS, "n" * 252], ids=[*_WORDS, "longest"])
def test_words_that_mean_something_inside_a_table_are_names(lab: Lab, name: str) -> None:
    t = lab.create("id INT", values="(1)")
    lab.sql(f"CREATE DATABASE {name}")
    lab.sql(f"ALTER TABLE {t} RENAME TO {name}.{name}")
    lab.sql(f"INSERT INTO {name}.{name} VALUES (2)")
    lab.sql(f"CREATE TABLE {name}.other {ACID} AS SELECT * FROM {name}.{name}")
    assert lab.rows(f"{name}.{name}") == lab.rows(f"{name}.other") == [(1,), (2,)]
    assert lab.root(f"{name}.{name}").name == name
    lab.sql(f"DROP DATABASE {name} CASCADE")
    assert not lab.root(lab.create("id INT")).parent.joinpath(f"{name}.db").exists()


def test_older_tables_of_other_names_are_used_renamed_and_dropped(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(failures, "check_name", lambda _: None)
        for name in ("an older one", "another one"):
            lab.sql(f"CREATE TABLE `{name}` (id INT) {ACID}")
    lab.sql("INSERT INTO `an older one` VALUES (1)")
    lab.sql("ALTER TABLE `an older one` RENAME TO a_newer_one")
    assert lab.rows("a_newer_one") == [(1,)]
    lab.sql("DROP TABLE a_newer_one")
    lab.sql("DROP TABLE `another one`")
