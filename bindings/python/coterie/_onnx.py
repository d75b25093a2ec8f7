"""ONNX in and out, by the program `coterie`: the library itself reads no ONNX."""
from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from typing import Mapping, Sequence

from ._errors import Code, CoterieError
from ._program import find_program
from ._text import StrPath


def convert(path: StrPath, dims: Mapping[str, int], output: str | None, constant: Sequence[str], trainable: Sequence[str],
            program: StrPath | None) -> bytes:
    words = [f"--dim={name}={size}" for name, size in dims.items()]
    words += [] if output is None else [f"--onnx-output={output}"]
    words += [f"--constant={pattern}" for pattern in constant] + [f"--trainable={pattern}" for pattern in trainable]
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "model.cotf"
        _run(program, "convert", _plain(path), "-o", str(made), *words)
        return made.read_bytes()


def export(model: bytes, path: StrPath, program: StrPath | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "model.cotf"
        written.write_bytes(model)
        _run(program, "export", str(written), "-o", _plain(path))


def _plain(path: StrPath) -> str:
    return os.path.abspath(os.fspath(path))  # never taken for an option


def _run(program: StrPath | None, *words: str) -> None:
    found = find_program(program, "ONNX is read and written")
    done = subprocess.run([found, "model", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip() or f"it ended with status {done.returncode}"
        raise CoterieError(Code.INVALID_ARGUMENT, f"coterie model {words[0]}: {said}")
