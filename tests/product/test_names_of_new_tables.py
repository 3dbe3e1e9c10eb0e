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


@pytest.mark.parametrize("name", ["../stolen", "a/b", "a b"])
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
