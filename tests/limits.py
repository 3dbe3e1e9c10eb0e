"""Other tuning constants for a test."""

from __future__ import annotations

from dataclasses import replace

import pytest

from acidsql import limits


def set_limits(monkeypatch: pytest.MonkeyPatch, **changes: int) -> None:
    """Change tuning constants until the test ends."""
    monkeypatch.setattr(limits, "_LIMITS", replace(limits.limits(), **changes))
