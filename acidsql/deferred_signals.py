"""Signals that wait until steps that belong together are done.

A handler that raises, as Python's own does at Ctrl-C, would do so between any two instructions of
the main thread. That may be after SQLite's write lock was taken, after a transaction was opened and
before any code is there to end it, or in the middle of a rollback.
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


class _Signals:
    """Signals of the main thread: handlers run only there.

    Attributes:
        handlers: handlers in whose place ``note`` is, from the outermost ``DeferredSignals`` on.
        arrived: signals that wait.
        wait: whether signals wait.
        raised: whether a handler has raised since.
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
        # If the handler raises, what follows is taken back, and other signals wait for that.
        self.wait = self.raised = True
        self.handlers[number](number, frame)
        self.wait = self.raised = False

    def restore(self) -> None:
        """Put the handlers back, also if one that is back already raises meanwhile."""
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
    """Context that defers signal handlers: those of signals that arrived run at its end.

    Handlers run only in the main thread, so in other threads nothing is done. A signal without a
    handler of Python's acts at once: it ends the process, or is ignored.
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
    """Context within ``DeferredSignals`` that lets handlers run at once, until one has raised.

    From then on signals wait for the end of the outermost ``DeferredSignals``, so that they do not
    disturb the rollback of what was interrupted.
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
