"""Signals that wait until a transaction of the SQLite file has ended.

A handler that raises, as Python's own does at Ctrl-C, would do so between any two instructions of
the main thread: after SQLite's write lock was taken, or before a lock of this process is released.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

_Handler = Callable[[int, FrameType | None], Any]

# Those for which programs install handlers that raise; Windows has only some of them.
_DEFERRED = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM", "SIGUSR1", "SIGUSR2")
    if hasattr(signal, name)
)


class DeferredSignals:
    """Context in which no signal handler runs; those of signals that came run at its end.

    Handlers run in the main thread alone, so in other threads nothing is done. A signal without a
    handler of Python's acts at once: it ends the process, or is ignored.
    """

    def __init__(self) -> None:
        self._handlers: dict[int, _Handler] = {}
        self._arrived: list[int] = []

    def __enter__(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        try:
            for number in _DEFERRED:
                handler = signal.getsignal(number)
                if callable(handler):
                    self._handlers[number] = handler
                    signal.signal(number, self._note)
        except BaseException:
            self._restore()
            raise

    def __exit__(self, *_: object) -> None:
        self._restore()
        for number in dict.fromkeys(self._arrived):
            signal.raise_signal(number)

    def _note(self, number: int, _: FrameType | None) -> None:
        self._arrived.append(number)

    def _restore(self) -> None:
        """Put the handlers back, also if one that is back already raises meanwhile."""
        try:
            while self._handlers:
                number = next(iter(self._handlers))
                signal.signal(number, self._handlers[number])
                del self._handlers[number]
        finally:
            if self._handlers:
                self._restore()
