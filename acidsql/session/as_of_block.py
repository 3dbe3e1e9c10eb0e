"""Blocks where all statements of a thread read tables as of one moment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType

from acidsql import bridge
from acidsql.errors import AcidAnalysisError
from acidsql.metastore.moments import Moment
from acidsql.session.acid_session import AcidSession

# Moments of a thread's current blocks, by the key of the Spark session.
_moments: ContextVar[Mapping[str, Moment]] = ContextVar(
    "acidsql_as_of", default=MappingProxyType({})
)


@contextmanager
def reading_as_of(session: AcidSession, moment: Moment) -> Iterator[None]:
    """Make the statements that this thread runs in the block read all tables as of a moment."""
    key = bridge.session_key(session.spark)
    token = _moments.set({**_moments.get(), key: moment})
    try:
        yield
    finally:
        _moments.reset(token)


def moment_of_block(session: AcidSession) -> Moment | None:
    """Return the moment of the innermost block that this thread is in, or None."""
    moments = _moments.get()
    return moments.get(bridge.session_key(session.spark)) if moments else None


def refuse_in_block(session: AcidSession, operation: str) -> None:
    """Refuse an operation that writes or defines something in a block that reads as of a moment.

    Args:
        session: the session.
        operation: the operation, in the words of the statement.

    Raises:
        AcidAnalysisError: NOT_ALLOWED_AS_OF.
    """
    moment = moment_of_block(session)
    if moment is not None:
        raise AcidAnalysisError(
            "NOT_ALLOWED_AS_OF",
            f"{operation or 'this operation'} is not allowed in a block that reads as of {moment}: "
            "write after the block, or name versions in the statement (VERSION AS OF)",
            {"operation": operation},
        )
