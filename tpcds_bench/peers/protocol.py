"""Messages between a suite and its workers: one JSON object per line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import IO, Any


def send(stream: IO[str], message: Mapping[str, Any]) -> None:
    """Write a message; values without a JSON type become texts."""
    stream.write(json.dumps(message, default=str) + "\n")
    stream.flush()


def receive(stream: IO[str]) -> dict[str, Any] | None:
    """Wait for a message; return None if the other side has ended."""
    line = stream.readline()
    if not line.endswith("\n"):
        return None
    message: dict[str, Any] = json.loads(line)
    return message
