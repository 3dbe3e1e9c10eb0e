"""Result of a translation to Spark.

The query of a view cannot be translated, because Spark does not keep the settings of a statement
with a view.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from acidsql.dialects.refusals import unsupported
from acidsql.dialects.tokens import Node, word_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Translation:
    """Statement of Spark, with the settings to run it.

    Attributes:
        text: the statement.
        settings: settings of Spark that preserve the meaning of the original statement.
        warnings: requests of the original that are ignored, because they do not change the rows.
    """

    text: str
    settings: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def refuse_view(text: str, nodes: Sequence[Node]) -> None:
    """Refuse CREATE VIEW and ALTER VIEW with a query, because a view does not keep the settings.

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
