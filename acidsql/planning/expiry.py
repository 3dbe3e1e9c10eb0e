"""Expiry of the plan of a statement: too late, its run fails before it opens files that may be
gone.
"""

from __future__ import annotations


def not_expired(expires: int) -> str:
    """Build the condition that a plan has not expired, as SQL; it is folded when a run is planned.

    In time it folds to true. Too late, folding fails with SNAPSHOT_EXPIRED, before files are opened
    that may be gone; ``raise_error`` would be left to the tasks. An impossible conversion is the
    one foldable expression whose error shows a given text in all releases and settings of Spark.
    The time is a cast of ``'now'``, since ``CurrentValues`` replaces all functions that return it.
    """
    message = (
        "[SNAPSHOT_EXPIRED] the snapshot of this DataFrame is older than "
        "spark.acidsql.snapshot.maxAge: run the statement again"
    )
    late = f"unix_micros(CAST('now' AS TIMESTAMP_LTZ)) > {expires}L"
    return f"IF({late}, to_binary('{message}', 'hex') IS NULL, true)"
