"""Calls into the library: what a callback raises comes out of the call that made it, and so does ^C."""
from __future__ import annotations

import signal
import threading
from types import TracebackType
from typing import Any, Callable


class _Raised(threading.local):
    error: BaseException | None = None


_raised = _Raised()  # callbacks run on the thread of the call
_waiting: list[_Signals] = []  # of the main thread alone


class _Signals:
    """While the main thread is in the library, ^C waits: Python would raise it inside a callback, out of which nothing
    can be raised, and it would be lost."""

    def __init__(self) -> None:
        self.before: Any = None
        self.came: tuple[int, Any] | None = None

    def __enter__(self) -> _Signals:
        if threading.current_thread() is threading.main_thread():
            before = signal.getsignal(signal.SIGINT)
            if callable(before):
                try:
                    signal.signal(signal.SIGINT, self._keep)
                    self.before = before
                    _waiting.append(self)
                except ValueError:
                    pass  # an interpreter that is not the main one gets no signals
        return self

    def _keep(self, number: int, frame: Any) -> None:
        self.came = number, frame

    def ends_call(self) -> bool:
        """Whether what came is going to raise, so that the call is for nothing."""
        return self.came is not None and self.before is signal.default_int_handler

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.before is None:
            return
        _waiting.remove(self)
        signal.signal(signal.SIGINT, self.before)
        if self.came is not None:
            self.before(*self.came)


def call(function: Callable[..., int], *arguments: object) -> int:
    """The status; or raises what a callback raised, or ^C."""
    outer, _raised.error = _raised.error, None  # a callback may call, too
    try:
        with _Signals():
            status = function(*arguments)
        if _raised.error is not None:
            raise _raised.error
        return status
    finally:
        _raised.error = outer


def guarded(body: Callable[[], None]) -> int:
    """What a callback does: 0, or 1 if it raised, which ends the call."""
    if _waiting and _waiting[-1].ends_call() and threading.current_thread() is threading.main_thread():
        return 1
    try:
        body()
        return 0
    except BaseException as error:
        keep(error)
        return 1


def keep(error: BaseException) -> None:
    if _raised.error is None:
        _raised.error = error


def has_raised() -> bool:
    """Whether a callback of the call that this thread is in has raised."""
    return _raised.error is not None
