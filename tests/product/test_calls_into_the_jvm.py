"""Tests that statements on wide tables need no more calls from Python into the JVM."""

from __future__ import annotations

from unittest import mock

import pytest
from py4j.clientserver import ClientServerConnection

from tests.product.conftest import Lab

pytestmark = pytest.mark.spark


def calls(lab: Lab, text: str) -> int:
    """Run a statement; the number of its calls, but for those that release Java objects."""
    send, count = ClientServerConnection.send_command, 0

    def counting(connection: ClientServerConnection, command: str) -> str:
        nonlocal count
        count += not command.startswith("m\nd\n")
        answer: str = send(connection, command)
        return answer

    with mock.patch.object(ClientServerConnection, "send_command", counting):
        lab.frame(text)
    return count


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM {t} WHERE id = 1",
        "SELECT a.id FROM {t} AS a JOIN {t} AS b ON a.id = b.id",
        "UPDATE {t} SET c1 = 'x' WHERE id = 1",
        "DELETE FROM {t} WHERE id = 2",
    ],
)
def test_calls_do_not_grow_with_the_columns(lab: Lab, text: str) -> None:
    counts = []
    for width in (2, 60):
        names = [f"c{i}" for i in range(width)]
        table = lab.create(", ".join(["id INT", *(f"{name} STRING" for name in names)]))
        lab.insert(table, ", ".join(str((i, *names)) for i in range(3)))
        own = text.format(t=table)
        lab.frame(own)
        counts.append(calls(lab, own))
    assert counts[1] <= counts[0] + 10
