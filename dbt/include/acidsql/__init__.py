"""Macros and materializations of the dbt adapter ``acidsql``."""

from __future__ import annotations

from pathlib import Path

PACKAGE_PATH = str(Path(__file__).parent)
