"""Errors: a code that a program can tell apart, and a sentence for a person."""
from __future__ import annotations

import enum


class Code(enum.IntEnum):
    """coterie_status of coterie.h. Values never change; new ones may come, and are INTERNAL here."""

    OK = 0
    INVALID_ARGUMENT = 1
    MALFORMED = 2
    UNSUPPORTED_VERSION = 3
    UNAUTHENTICATED = 4
    PERMISSION_DENIED = 5
    NOT_FOUND = 6
    CONFLICT = 7
    ROUND_CLOSED = 8
    TICKET_EXPIRED = 9
    TOO_LARGE = 10
    LENGTH_REQUIRED = 11
    RATE_LIMITED = 12
    OVERLOADED = 13
    UNAVAILABLE = 14
    STORAGE_FULL = 15
    TIMED_OUT = 16
    DATA_LOSS = 17
    REFUSED = 18
    CANCELLED = 19
    INTERNAL = 20

    @classmethod
    def _missing_(cls, value: object) -> Code:
        return cls.INTERNAL

    @classmethod
    def named(cls, name: object) -> Code:
        """By the stable name, as coterie_status_name and the server's problems have it: "not_found"."""
        return cls.__members__.get(name.upper(), cls.INTERNAL) if isinstance(name, str) else cls.INTERNAL


class CoterieError(Exception):
    """What the library or the server refuses. `code` says which kind of error it is, `text` what happened."""

    def __init__(self, code: Code | int, text: str):
        self.code = Code(code)
        self.text = text
        super().__init__(f"{self.code.name.lower()}: {text}" if text else self.code.name.lower())

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.code, self.text)


class InvalidArgument(CoterieError, ValueError):
    """INVALID_ARGUMENT of the library. It is a ValueError, too."""


class ClosedError(CoterieError):
    """The object was closed, and can do nothing any more."""

    def __init__(self, what: str):
        super().__init__(Code.INVALID_ARGUMENT, f"the {what} is closed")
        self.what = what

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.what,)


def error_of(status: int, text: bytes | None) -> CoterieError:
    code = Code(status)
    kind = InvalidArgument if code == Code.INVALID_ARGUMENT else CoterieError
    return kind(code, (text or b"").decode("utf-8", "replace"))
