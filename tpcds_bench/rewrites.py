"""Rewrites of TPC-DS queries that have different meanings in Spark's and DuckDB's dialects.

A rewrite is applied to the text for both engines, but only if the original answers differed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_REWRITES = 5
"""Largest number of the 99 queries that may need a rewrite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrite:
    r"""Rewrite of one query's text that has the same meaning in both dialects.

    Args:
        query: number of the query.
        reason: difference between the dialects.
        pattern: regular expression of the text to replace, everywhere in the query.
        replacement: text that replaces it, with ``\1`` for groups.
    """

    query: int
    reason: str
    pattern: str
    replacement: str

    def apply(self, text: str) -> str:
        """Return the rewritten text.

        Raises:
            ValueError: the pattern is not in the text.
        """
        rewritten, count = re.subn(self.pattern, self.replacement, text)
        if count == 0:
            raise ValueError(f"the rewrite of query {self.query} does not match its text")
        return rewritten


REWRITES = {
    rewrite.query: rewrite
    for rewrite in (
        Rewrite(
            query=66,
            reason=(
                "DECIMAL / BIGINT is DECIMAL with 6 digits after the point in Spark and DOUBLE in"
                " DuckDB, and the rounded quotients are added up; rewritten to divide DOUBLE"
            ),
            pattern=r"sum\((\w+_sales)/w_warehouse_sq_ft\)",
            replacement=r"sum(CAST(\1 AS DOUBLE)/w_warehouse_sq_ft)",
        ),
    )
}
"""The rewrites by query number."""
