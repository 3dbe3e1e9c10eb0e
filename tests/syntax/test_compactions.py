from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from acidsql.syntax.alter_statements import CreateTag, DropTag
from acidsql.syntax.maintenance_statements import (
    AbortCompactions,
    AbortTransactions,
    Compact,
    Optimize,
    Vacuum,
)
from acidsql.syntax.nodes import PartitionSpec, Span
from acidsql.syntax.show_statements import ShowCompactions, ShowLocks, ShowTags, ShowTransactions

Check = Callable[[str, type[Any], dict[str, Any]], None]
T = {"name": ("t",)}


def partition(**values: str | None) -> PartitionSpec:
    return PartitionSpec(values=tuple(values.items()))


TRANSACTIONS = [
    ("ALTER TABLE «t» COMPACT 'MAJOR'", Compact, {**T, "compaction_type": "major"}),
    ("ALTER TABLE «compact» COMPACT 'minor' AND WAIT", Compact,
     {"name": ("compact",), "compaction_type": "minor", "wait": True}),
    ("ALTER TABLE «d.t» PARTITION (p = 'a', q = DATE'2024-01-01') COMPACT \"major\"",
     Compact, {"name": ("d", "t"), "compaction_type": "major",
               "partition": partition(p="'a'", q="DATE'2024-01-01'")}),
    (("ALTER TABLE «t» COMPACT 'rebalance' CLUSTERED INTO 4 BUCKETS AND WAIT POOL 'p' "
     "WITH OVERWRITE TBLPROPERTIES ('a'='b') ORDER BY a DESC, f(b)"), Compact,
     {**T, "compaction_type": "rebalance", "wait": True, "pool": "p", "clustered_into": 4,
      "order_by": Span(start=125, end=137), "unsupported": ("WITH OVERWRITE TBLPROPERTIES",)}),
    ("OPTIMIZE TABLE «t» REWRITE DATA", Compact,
     {**T, "compaction_type": "major", "wait": True}),
    ("OPTIMIZE «t»", Optimize, T),
    ("OPTIMIZE «t» ZORDER BY (a, b)", Optimize, T | {"zorder_by": ("a", "b")}),
    ("OPTIMIZE «t» ZORDER BY `a``b`", Optimize, T | {"zorder_by": ("a`b",)}),
    ("OPTIMIZE «d.t» WHERE p > 1", Optimize,
     {"name": ("d", "t"), "condition": Span(start=19, end=24)}),
    ("ALTER TABLE «t» CREATE TAG q3", CreateTag, T | {"tag": "q3"}),
    ("ALTER TABLE «t» CREATE TAG `q 3` AS OF VERSION 7 RETAIN 30 DAYS", CreateTag,
     T | {"tag": "q 3", "version": 7, "retain_days": 30}),
    ("ALTER TABLE «t» DROP TAG IF EXISTS tag", DropTag, T | {"tag": "tag", "if_exists": True}),
    ("SHOW TAGS IN «d.t»", ShowTags, {"name": ("d", "t")}),
    ("VACUUM «t»", Vacuum, T),
    ("VACUUM «t» RETAIN 7 HOURS DRY RUN", Vacuum, {**T, "retain_hours": 7, "dry_run": True}),
    ("SHOW COMPACTIONS", ShowCompactions, {}),
    ("SHOW COMPACTIONS «d.t»", ShowCompactions, {"name": ("d", "t")}),
    ("SHOW COMPACTIONS DATABASE d", ShowCompactions, {"database": ("d",)}),
    ("SHOW COMPACTIONS «database»", ShowCompactions, {"name": ("database",)}),
    ("SHOW COMPACTIONS «type» TYPE 'major'", ShowCompactions,
     {"name": ("type",), "type": "major"}),
    ("SHOW COMPACTIONS «t» PARTITION (p=1) POOL 'x' STATUS 'failed' LIMIT 3",
     ShowCompactions,
     {**T, "partition": partition(p="1"), "pool": "x", "status": "failed", "limit": 3}),
    ("SHOW COMPACTIONS ORDER BY state", ShowCompactions, {"order_by": Span(start=26, end=31)}),
    ("SHOW COMPACTIONS COMPACTIONID = 7", ShowCompactions, {"compaction_id": 7}),
    ("SHOW TRANSACTIONS", ShowTransactions, {}),
    ("SHOW LOCKS", ShowLocks, {}),
    ("SHOW LOCKS «t» PARTITION (p=1) EXTENDED", ShowLocks,
     {**T, "partition": partition(p="1"), "extended": True}),
    ("SHOW LOCKS SCHEMA d", ShowLocks, {"database": ("d",)}),
    ("ABORT COMPACTIONS 12 7", AbortCompactions, {"ids": (12, 7)}),
    ("ABORT TRANSACTIONS 12 7", AbortTransactions, {"ids": (12, 7)}),
]  # fmt: skip


@pytest.mark.parametrize(("marked", "kind", "fields"), TRANSACTIONS)
def test_compactions_and_transactions(
    check: Check, marked: str, kind: type[Any], fields: dict[str, Any]
) -> None:
    check(marked, kind, fields)
