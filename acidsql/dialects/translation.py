"""Statement of another dialect as one of Spark.

A view cannot be one: Spark reads it by the settings of the session that made it.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from acidsql.dialects.refusals import unsupported
from acidsql.dialects.tokens import Node, word_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Translation:
    """A statement of Spark, and how Spark is to read it.

    Attributes:
        text: the statement.
        settings: settings of Spark under which it means what it meant.
        warnings: what the statement requested and does not get; the rows are the same.
    """

    text: str
    settings: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def refuse_view(text: str, nodes: Sequence[Node]) -> None:
    """Refuse to make a view of a query: settings of one statement are not kept with it.

    Raises:
        AcidDialectError: the statement makes or alters a view of a query.
    """
    words = list(map(word_of, nodes))
    head = list(itertools.takewhile(lambda word: word != "AS", words))
    if words[:1] in (["CREATE"], ["ALTER"]) and "VIEW" in head and len(head) < len(words):
        raise unsupported(
            text,
            nodes[words.index("VIEW")].start,
            problem="the query of a view is not carried over to Spark",
            instead="make the view in Spark's dialect, or a table by CREATE TABLE … AS",
        )
