"""Where libcoterie is. What was looked for, and where, is what the error says."""
from __future__ import annotations

import ctypes
import ctypes.util
import os
import sys
from pathlib import Path

VARIABLE = "COTERIE_LIBRARY"
VERSION = "0.2.0"  # of the C interface that this package was written for: that of the tree it lies in


def file_names() -> list[str]:
    """What the library is called on this system, the most exact name first."""
    if sys.platform == "darwin":
        return ["libcoterie.0.dylib", "libcoterie.dylib"]
    if sys.platform == "win32":
        return ["coterie.dll"]
    return ["libcoterie.so.0", "libcoterie.so"]


def load() -> ctypes.CDLL:
    """The library that COTERIE_LIBRARY names, and no other if it is set; or the one beside this package, as a wheel has
    it; or the system's. ImportError: there is none, or it cannot be loaded."""
    named = os.environ.get(VARIABLE)
    if named:
        return _open(named, f"{VARIABLE} is {named}")
    folder = Path(__file__).resolve().parent
    for name in file_names():
        if (folder / name).is_file():
            return _open(str(folder / name), "the library of this package")
    found = ctypes.util.find_library("coterie")
    tried = []
    for name in ([found] if found else []) + file_names():
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            tried.append(str(error))
    raise ImportError(
        f"libcoterie was not found. Looked for {' and '.join(file_names())} in {folder} and where the system's loader "
        f"looks ({'; '.join(dict.fromkeys(tried))}). Set {VARIABLE} to the library's file, install it "
        "(cmake --install build/release), or use a wheel that has it (cmake --build --preset release --target "
        "coterie_wheel).")


def _open(path: str, whose: str) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"{whose}, and it cannot be loaded: {error}") from None


def check_version(version: str) -> None:
    """A library with another major version speaks another language; an older one does not know all that is asked of it,
    and would ignore, say, a limit of a policy. ImportError."""
    try:
        has = tuple(int(part) for part in version.split("-")[0].split("."))
    except ValueError:
        has = ()
    wants = tuple(int(part) for part in VERSION.split("."))
    if len(has) != 3 or has[0] != wants[0] or has[:2] < wants[:2]:
        raise ImportError(f"libcoterie is of version {version}; this package needs {wants[0]}.{wants[1]} or a later "
                          f"{wants[0]}.x. {VARIABLE} names another library.")
