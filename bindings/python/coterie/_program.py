"""The program `coterie`: what the library does not do by itself, it does."""
from __future__ import annotations

import os
import shutil

from ._text import StrPath

VARIABLE = "COTERIE_PROGRAM"


def find_program(program: StrPath | None, purpose: str) -> str:
    """`program`, or the one that COTERIE_PROGRAM names, or `coterie` on PATH. FileNotFoundError: it is not there; `purpose`
    says what it is for: "ONNX is read and written"."""
    named = program if program is not None else os.environ.get(VARIABLE) or "coterie"
    found = shutil.which(os.fspath(named))
    if found is None:
        raise FileNotFoundError(f"{purpose} by the program `coterie`, and {os.fspath(named)!r} was not found: install it, or "
                                f"set {VARIABLE} to its file")
    return found
