"""Parser of the statements that acidsql executes itself; all others are left to Spark."""

from __future__ import annotations

from acidsql.syntax.parameters import bind
from acidsql.syntax.parser import parse
from acidsql.syntax.statements import Statement

__all__ = ["Statement", "bind", "parse"]
