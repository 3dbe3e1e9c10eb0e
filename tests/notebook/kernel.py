"""A real Jupyter kernel, and what it sends to a front end."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

_SECONDS = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message on the channel that every front end listens to."""

    kind: str
    content: dict[str, Any]

    @property
    def display(self) -> str | None:
        """The display that it makes or updates."""
        found = self.content.get("transient", {}).get("display_id")
        return None if found is None else str(found)

    @property
    def data(self) -> dict[str, str]:
        """What is shown, by MIME type."""
        found: dict[str, str] = self.content["data"]
        return found


class Kernel:
    """A kernel that runs, and its client."""

    def __init__(self, manager: KernelManager, client: BlockingKernelClient) -> None:
        self._manager = manager
        self._client = client

    def run(self, cell: str, on_message: Callable[[Message], None] | None = None) -> list[Message]:
        """Run a cell; what it shows, in order.

        Args:
            cell: the text of the cell.
            on_message: is called with each message when it comes.
        """
        request = self._client.execute(cell)
        shown: list[Message] = []
        while True:
            found = self._client.get_iopub_msg(timeout=_SECONDS)
            if found["parent_header"].get("msg_id") != request:
                continue
            message = Message(kind=found["msg_type"], content=found["content"])
            if message.kind == "status" and message.content["execution_state"] == "idle":
                return shown
            if message.kind not in ("status", "execute_input"):
                shown.append(message)
                if on_message is not None:
                    on_message(message)

    def answer(self, cell: str) -> Message:
        """Run a cell; what it shows in the end, when its bar is gone."""
        (message,) = (m for m in self.run(cell) if m.display is None)
        return message

    def text(self, cell: str) -> str:
        """Run a cell that shows a result; its plain text."""
        return self.answer(cell).data["text/plain"]

    def interrupt(self) -> None:
        """Do what the square button of a notebook does."""
        self._manager.interrupt_kernel()


@contextmanager
def started(home: Path) -> Iterator[Kernel]:
    """Start a kernel that works in a directory."""
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(cwd=str(home), env=os.environ | {"IPYTHONDIR": str(home / "ipython")})
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=_SECONDS)
        yield Kernel(manager, client)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
