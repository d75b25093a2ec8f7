"""ClientThread: the handle of a client and the thread that is in the library with it. Knows nothing of the Client, which
may be collected while the thread runs: then it is stopped."""
from __future__ import annotations

import ctypes
import os
import threading
from typing import Any, Callable

from . import _structs
from ._calls import call, guarded, has_raised
from ._errors import ClosedError, Code, error_of
from ._library import lib
from ._source import Source


class ClientThread:
    def __init__(self, pointer: ctypes.c_void_p, source: Source, told: Callable[[Any, str], bool] | None, kept: object):
        self.pointer, self.source, self.told, self.kept = pointer, source, told, kept
        self.process = os.getpid()
        self.lock = threading.RLock()  # of the members; never held while the library works
        self.using = threading.Lock()  # held by whoever is in the library with the handle
        self.stopped = self.closed = self.abandoned = False
        self.thread: threading.Thread | None = None
        self.error: BaseException | None = None
        self.rounds_done, self.last_error = 0, ""

    @property
    def running(self) -> bool:
        thread = self.thread
        return thread is not None and thread.is_alive()

    def in_callback(self) -> bool:
        return threading.current_thread() is self.thread

    def start(self, rounds: int) -> None:
        with self.lock:
            if self.closed:
                raise ClosedError("client")
            if self.running:
                raise RuntimeError("the client runs already")
            self.error = None
            self.thread = threading.Thread(target=self.work, args=(rounds,), name="coterie-client", daemon=True)
            self.thread.start()

    def work(self, rounds: int) -> None:
        try:
            with self.using:
                status = call(lib.coterie_client_run, self.pointer, rounds, _structs.ON_PROGRESS(self.on_progress), None)
                self.last_error = lib.coterie_client_last_error(self.pointer).decode("utf-8", "replace")
            if status and not (status == Code.CANCELLED and self.stopped):
                raise error_of(status, self.last_error.encode())
        except BaseException as error:
            self.error = error
        if self.abandoned:
            self.give_back()

    def on_progress(self, _context: Any, progress: Any) -> int:
        ends = False

        def tell() -> None:
            nonlocal ends
            step = progress.contents
            self.rounds_done = step.rounds_done
            if step.step_status:
                self.last_error = lib.coterie_client_last_error(self.pointer).decode("utf-8", "replace")
            # What the data set raised is a step that went wrong, for the library, which would try again.
            ends = has_raised() or (self.told is not None and self.told(step, self.last_error))

        return 1 if guarded(tell) or ends else 0

    def join(self, timeout: float | None) -> bool:
        if self.in_callback():
            raise RuntimeError("a callback cannot wait for the client that is calling it")
        thread = self.thread
        if thread is not None:
            thread.join(timeout)
            if thread.is_alive():
                return False
        error, self.error = self.error, None
        if error is not None:
            raise error
        return True

    def stop(self) -> None:
        with self.lock:
            self.stopped = True
            if not self.closed:
                lib.coterie_client_cancel(self.pointer)  # from any thread
        thread = self.thread
        if thread is not None and not self.in_callback():
            thread.join()

    def set_conditions(self, conditions: _structs.Conditions) -> None:
        with self.lock:
            if self.closed:
                raise ClosedError("client")
            status = lib.coterie_client_set_conditions(self.pointer, ctypes.byref(conditions))  # from any thread
        if status:
            raise error_of(status, b"conditions: a member is out of range")

    def call(self, function: Callable[..., int], *arguments: object) -> None:
        if not self.using.acquire(blocking=False):
            raise RuntimeError("the client runs: ask it before it is started, or when it is stopped")
        try:
            if self.closed:
                raise ClosedError("client")
            status = call(function, self.pointer, *arguments)
            text = lib.coterie_client_last_error(self.pointer) if status else None
        finally:
            self.using.release()
        if status:
            raise error_of(status, text)

    def close(self) -> None:
        if self.in_callback():
            raise RuntimeError("a callback cannot close the client that is calling it; it can stop it")
        self.abandon()

    def abandon(self) -> None:
        """As close; of a client that is collected on the thread that runs it, when that ends."""
        if self.process != os.getpid():
            return  # of the process that forked this one
        self.abandoned = True
        self.stop()
        if not self.in_callback():
            self.give_back()

    def give_back(self) -> None:
        with self.using, self.lock:
            if self.closed:
                return
            self.closed = True
            lib.coterie_client_close(ctypes.byref(self.pointer))
        self.source.release()
