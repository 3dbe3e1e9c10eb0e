"""Statements and their write counts, as the history of a table keeps them."""

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
    """Return a statement with the part of its text that the history may keep.

    As in Spark's own plans, matches of ``spark.sql.redaction.string.regex`` are replaced. The text
    is cut only after that, so that no part of a secret remains.

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
    """Return counts with the number and size of the files in directories, except hidden files."""
    sizes = [
        version.size
        for listing in files.list_all(directories)
        for name, version in listing.files.items()
        if not is_hidden(name)
    ]
    return replace(counts, files=len(sizes), size=sum(sizes))


def cut(text: str, length: int) -> str:
    """Cut a text to at most ``length`` characters; a cut text ends with an ellipsis.

    Halves of surrogate pairs, which no file can contain, become question marks.

    >>> cut("DELETE FROM t", 7), cut("DELETE", 7)
    ('DELETE…', 'DELETE')
    """
    shortened = text if len(text) <= length else text[: length - 1] + "…"
    return shortened.encode("utf-8", "replace").decode()
