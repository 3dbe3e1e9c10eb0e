"""Templates of expressions: ``{0}``, ``{1}``, … are the places of the operands."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NoReturn

Refuse = Callable[[str, str], NoReturn]
"""Raises the error of a problem, with what to write instead."""

_CHANGING = re.compile(r"\b(rand|random|randn|shuffle|surrogate_key|uuid)\s*\(", re.IGNORECASE)


def filled(template: str, operands: Sequence[str], refuse: Refuse) -> str:
    """Return the template with the operands in their places.

    An operand that stands in several places may not change from one to the other.
    """
    for index, operand in enumerate(operands):
        changing = _CHANGING.search(operand)
        if changing and template.count(f"{{{index}}}") > 1:
            refuse(
                f"{changing[1].lower()}() would be computed several times here",
                "compute it in a subquery first",
            )
    return template.format(*operands)
