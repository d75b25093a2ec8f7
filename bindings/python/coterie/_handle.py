"""Handle: what the library gave and takes back, once, when nobody is in it."""
from __future__ import annotations

import ctypes
import os
import threading
import weakref
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Callable, Iterator, TypeVar

from ._calls import call
from ._errors import ClosedError, error_of
from ._library import lib

ERROR_BYTES = 1024
CALL_BACK = ("step", "evaluate", "measure", "fine_tune")  # into Python, to read examples
Self = TypeVar("Self", bound="Handle")


class Core:
    """The pointer, and who is in the library with it. Knows nothing of the object that has it: that may be collected."""

    def __init__(self, pointer: ctypes.c_void_p, kind: str):
        self.pointer, self.kind, self.process = pointer, kind, os.getpid()
        self.lock = threading.Lock()
        self.user: int | None = None

    @contextmanager
    def use(self) -> Iterator[ctypes.c_void_p]:
        """One thread at a time; the others wait. A callback of a call cannot use what the call is about."""
        me = threading.get_ident()
        if self.user == me:
            raise RuntimeError(f"a callback cannot use the {self.kind} that is calling it")
        with self.lock:
            try:
                self.user = me
                if not self.pointer:
                    raise ClosedError(self.kind)
                yield self.pointer
            finally:
                self.user = None

    def close(self) -> None:
        if self.process != os.getpid():
            return  # of the process that forked this one
        if self.user == threading.get_ident():
            raise RuntimeError(f"a callback cannot close the {self.kind} that is calling it")
        with self.lock:
            getattr(lib, f"coterie_{self.kind}_close")(ctypes.byref(self.pointer))


class Handle:
    """One thread at a time is in the library with an object; others wait for it. Closed by close(), at the end of a with
    block, or when it is collected."""

    _kind = ""

    def __init__(self, pointer: ctypes.c_void_p):
        self._core = Core(pointer, self._kind)
        self._finalizer = weakref.finalize(self, self._core.close)

    @property
    def closed(self) -> bool:
        return not self._core.pointer

    def close(self) -> None:
        """Gives the memory back; waits for calls under way. Twice is fine."""
        self._core.close()

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _call(self, name: str, *arguments: object) -> None:
        """Calls coterie_<kind>_<name>. Raises what it refuses, and what its callbacks raise."""
        function = getattr(lib, f"coterie_{self._kind}_{name}")
        with self._core.use() as pointer:
            status = call(function, pointer, *arguments) if name in CALL_BACK else function(pointer, *arguments)
            text = getattr(lib, f"coterie_{self._kind}_last_error")(pointer) if status else None
        if status:
            raise error_of(status, text)


def open_handle(function: Callable[..., int], *arguments: Any) -> ctypes.c_void_p:
    pointer, text = ctypes.c_void_p(), ctypes.create_string_buffer(ERROR_BYTES)
    status = call(function, *arguments, ctypes.byref(pointer), text, ERROR_BYTES)
    if status:
        raise error_of(status, text.value)
    return pointer
