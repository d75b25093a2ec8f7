"""Texts and paths as the library takes them."""
from __future__ import annotations

import os
from typing import Union

StrPath = Union[str, "os.PathLike[str]"]


def path_bytes(path: StrPath) -> bytes:
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"a path is a str or a PathLike, not {type(path).__name__}")
    return _whole(os.fsencode(os.fspath(path)))


def text_bytes(text: str, what: str) -> bytes:
    if not isinstance(text, str):
        raise TypeError(f"{what} is a str, not {type(text).__name__}")
    return _whole(text.encode())


def _whole(encoded: bytes) -> bytes:
    if b"\0" in encoded:  # C would see what is in front of it alone
        raise ValueError(f"embedded null character in {encoded!r}")
    return encoded
