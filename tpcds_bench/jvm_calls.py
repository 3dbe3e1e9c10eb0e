"""Number of calls from Python into the JVM."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING
from unittest import mock

from py4j.clientserver import ClientServerConnection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Python's garbage collector releases Java objects of earlier statements at any time.
_RELEASE = "m\nd\n"


@contextmanager
def calls_into_the_jvm() -> Iterator[Callable[[], int]]:
    """Count the calls of a block, without those that release Java objects.

    Yields:
        A function that returns the number of calls so far.
    """
    send, count = ClientServerConnection.send_command, 0

    def counting(connection: ClientServerConnection, command: str) -> str:
        nonlocal count
        count += not command.startswith(_RELEASE)
        answer: str = send(connection, command)
        return answer

    with mock.patch.object(ClientServerConnection, "send_command", counting):
        yield lambda: count
