"""Copies of tables from and to other formats, which are compared with their sources."""

from __future__ import annotations

from acidsql.copies.converting import convert
from acidsql.copies.exporting import export
from acidsql.copies.report import CopyReport

__all__ = ["CopyReport", "convert", "export"]
