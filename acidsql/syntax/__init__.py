"""Parser of the statements that acidsql executes itself. Spark executes all others."""

from __future__ import annotations

from acidsql.syntax.parameters import bind
from acidsql.syntax.parser import parse
from acidsql.syntax.statements import Statement

__all__ = ["Statement", "bind", "parse"]
