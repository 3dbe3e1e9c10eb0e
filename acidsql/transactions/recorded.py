"""Statements, and what they wrote, as the history of a table keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from acidsql import bridge
from acidsql.format.names import is_hidden
from acidsql.limits import limits
from acidsql.metastore.history import RecordedStatement, WriteCounts
from acidsql.session.acid_session import AcidSession
from acidsql.session.metrics import current
from acidsql.session.settings import records_statements
from acidsql.storage.filesystem import FileSystem


def recorded(session: AcidSession, statement: RecordedStatement) -> RecordedStatement:
    """Return a statement with as much of its text as the history may keep.

    What ``spark.sql.redaction.string.regex`` matches is replaced, as in Spark's own plans, and only
    then is the text cut, so that no part of a secret is left.

    Raises:
        AcidAnalysisError: INVALID_CONF_VALUE.
    """
    if statement.text is None or not session.metastore.capabilities.keeps_history:
        return statement
    if not records_statements(session.spark):
        return replace(statement, text=None)
    text = bridge.redacted(session.spark, current().written_text(statement.text))
    return replace(statement, text=cut(text, limits().statement_characters))


def with_files(files: FileSystem, counts: WriteCounts, directories: Sequence[str]) -> WriteCounts:
    """Return counts with the number and size of the files in directories; hidden ones do not
    count.
    """
    sizes = [
        version.size
        for listing in files.list_all(directories)
        for name, version in listing.files.items()
        if not is_hidden(name)
    ]
    return replace(counts, files=len(sizes), size=sum(sizes))


def cut(text: str, length: int) -> str:
    """Return a text of at most some characters; one that is cut ends with an ellipsis.

    Halves of surrogate pairs, which no file can hold, become question marks.

    >>> cut("DELETE FROM t", 7), cut("DELETE", 7)
    ('DELETE…', 'DELETE')
    """
    shortened = text if len(text) <= length else text[: length - 1] + "…"
    return shortened.encode("utf-8", "replace").decode()
