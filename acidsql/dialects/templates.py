"""Templates of expressions, where the operands replace ``{0}``, ``{1}``, …."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NoReturn

Refuse = Callable[[str, str], NoReturn]
"""Function that raises the error of a problem, with the text to write instead."""

_CHANGING = re.compile(r"\b(rand|random|randn|shuffle|surrogate_key|uuid)\s*\(", re.IGNORECASE)


def filled(template: str, operands: Sequence[str], refuse: Refuse) -> str:
    """Fill a template with operands.

    An operand that is used several times must have the same value each time.
    """
    for index, operand in enumerate(operands):
        changing = _CHANGING.search(operand)
        if changing and template.count(f"{{{index}}}") > 1:
            refuse(
                f"{changing[1].lower()}() would be computed several times here",
                "compute it in a subquery first",
            )
    return template.format(*operands)
