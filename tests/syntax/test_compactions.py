from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from acidsql.syntax.nodes import PartitionSpec
from acidsql.syntax.statements import (
    AbortTransactions,
    Compact,
    ShowCompactions,
    ShowLocks,
    ShowTransactions,
)

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
     {**T, "compaction_type": "rebalance", "wait": True,
      "unsupported": ("CLUSTERED INTO", "POOL", "WITH OVERWRITE TBLPROPERTIES", "ORDER BY")}),
    ("OPTIMIZE TABLE «t» REWRITE DATA", Compact,
     {**T, "compaction_type": "major", "wait": True}),
    ("SHOW COMPACTIONS", ShowCompactions, {}),
    ("SHOW COMPACTIONS «d.t»", ShowCompactions, {"name": ("d", "t")}),
    ("SHOW COMPACTIONS DATABASE d", ShowCompactions, {"database": ("d",)}),
    ("SHOW COMPACTIONS «database»", ShowCompactions, {"name": ("database",)}),
    ("SHOW COMPACTIONS «type» TYPE 'major'", ShowCompactions,
     {"name": ("type",), "unsupported": ("TYPE",)}),
    ("SHOW COMPACTIONS «t» PARTITION (p=1) POOL 'x' STATUS 'failed' LIMIT 3",
     ShowCompactions,
     {**T, "partition": partition(p="1"), "unsupported": ("POOL", "STATUS", "LIMIT")}),
    ("SHOW COMPACTIONS ORDER BY state", ShowCompactions, {"unsupported": ("ORDER BY",)}),
    ("SHOW COMPACTIONS COMPACTIONID = 7", ShowCompactions, {"unsupported": ("COMPACTION ID",)}),
    ("SHOW TRANSACTIONS", ShowTransactions, {}),
    ("SHOW LOCKS", ShowLocks, {}),
    ("SHOW LOCKS «t» PARTITION (p=1) EXTENDED", ShowLocks,
     {**T, "partition": partition(p="1"), "extended": True}),
    ("SHOW LOCKS SCHEMA d", ShowLocks, {"database": ("d",)}),
    ("ABORT TRANSACTIONS 12 7", AbortTransactions, {"ids": (12, 7)}),
]  # fmt: skip


@pytest.mark.parametrize(("marked", "kind", "fields"), TRANSACTIONS)
def test_compactions_and_transactions(
    check: Check, marked: str, kind: type[Any], fields: dict[str, Any]
) -> None:
    check(marked, kind, fields)
