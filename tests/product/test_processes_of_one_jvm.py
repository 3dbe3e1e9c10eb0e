"""Several Python processes at one JVM, which calls the one that has requested it last."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acidsql.bridge.gateway import gateway_server

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark


def test_reads_go_on_after_another_process_was_called_and_is_gone(lab: Lab) -> None:
    t = lab.create("id INT", values="(1)")
    assert lab.sql(f"SELECT id FROM {t}") == [(1,)]
    server = gateway_server(lab.spark)
    server.resetCallbackClient(server.getCallbackClient().getAddress(), 1)
    assert lab.sql(f"SELECT id FROM {t}") == [(1,)]
