"""Deferred handling of signals, so that steps that belong together are not interrupted.

A handler that raises, as Python's handler does at Ctrl-C, can raise between any two instructions of
the main thread. Examples are: after SQLite's write lock was acquired, after a transaction was
opened and before any code can end it, or in the middle of a rollback.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

_Handler = Callable[[int, FrameType | None], Any]

# Signals for which programs install handlers that raise; Windows has only some of these signals.
_DEFERRED = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM", "SIGUSR1", "SIGUSR2")
    if hasattr(signal, name)
)


class _Signals:
    """Signals of the main thread: handlers run only there.

    Attributes:
        handlers: handlers that the outermost ``DeferredSignals`` replaced by ``note``.
        arrived: signals that wait.
        wait: whether signals wait.
        raised: whether a handler has raised since then.
    """

    def __init__(self) -> None:
        self.handlers: dict[int, _Handler] = {}
        self.arrived: list[int] = []
        self.wait = False
        self.raised = False

    def install(self) -> None:
        self.wait, self.raised = True, False
        try:
            for number in _DEFERRED:
                handler = signal.getsignal(number)
                if callable(handler):
                    self.handlers[number] = handler
                    signal.signal(number, self.note)
        except BaseException:
            self.restore()
            raise

    def note(self, number: int, frame: FrameType | None) -> None:
        if self.wait:
            self.arrived.append(number)
            return
        # If the handler raises, a rollback follows, and other signals wait for its end.
        self.wait = self.raised = True
        self.handlers[number](number, frame)
        self.wait = self.raised = False

    def restore(self) -> None:
        """Restore all handlers, even if one that is restored already raises meanwhile."""
        try:
            while self.handlers:
                number = next(iter(self.handlers))
                signal.signal(number, self.handlers[number])
                del self.handlers[number]
        finally:
            if self.handlers:
                self.restore()

    def handle_arrived(self) -> None:
        while self.arrived:
            signal.raise_signal(self.arrived.pop(0))


_signals = _Signals()


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


class DeferredSignals:
    """Context that defers signals: the handlers of signals that arrived run at its end.

    Handlers run only in the main thread, so the context does nothing in other threads. A signal
    without a Python handler acts immediately: it ends the process, or is ignored.
    """

    def __init__(self) -> None:
        self._is_outermost = False
        self._waited = False

    def __enter__(self) -> None:
        if not _in_main_thread():
            return
        self._waited = _signals.wait
        self._is_outermost = not _signals.handlers
        if self._is_outermost:
            _signals.install()
        _signals.wait = True

    def __exit__(self, *_: object) -> None:
        if not _in_main_thread():
            return
        if self._is_outermost:
            _signals.restore()
            arrived, _signals.arrived = dict.fromkeys(_signals.arrived), []
            _signals.wait = False
            for number in arrived:
                signal.raise_signal(number)
        elif not self._waited and not _signals.raised:
            _signals.wait = False
            _signals.handle_arrived()


class Interruptible:
    """Context within ``DeferredSignals`` that runs handlers immediately, until one has raised.

    From then on, signals wait for the end of the outermost ``DeferredSignals``, so that they do not
    disturb the rollback of the interrupted work.
    """

    def __init__(self) -> None:
        self._waited = False

    def __enter__(self) -> None:
        if not _in_main_thread():
            return
        self._waited = _signals.wait
        if _signals.handlers and not _signals.raised:
            _signals.wait = False
            _signals.handle_arrived()

    def __exit__(self, *_: object) -> None:
        if _in_main_thread() and self._waited:
            _signals.wait = True
