"""Other tuning constants for a test."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from acidsql import limits


def set_limits(monkeypatch: pytest.MonkeyPatch, **changes: Any) -> None:
    """Change tuning constants until the test ends."""
    monkeypatch.setattr(limits, "_LIMITS", replace(limits.limits(), **changes))
