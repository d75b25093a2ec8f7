"""Sources: where the library reads examples. It calls back for each one of an array, and reads files by itself."""
from __future__ import annotations

import ctypes
import os
import threading
import weakref
from typing import Any, Sequence

import numpy as np

from . import _structs
from ._arrays import Array
from ._calls import guarded
from ._errors import ClosedError, error_of
from ._handle import ERROR_BYTES
from ._library import lib


class Source:
    """The C struct, and how many trainers and clients read it: it is given back when it is closed and nobody does."""

    def __init__(self, struct: _structs.Dataset):
        self.struct = struct
        self.lock = threading.RLock()  # the collector may close a source while its thread is in here
        self.readers, self.closing = 0, False

    def acquire(self) -> _structs.Dataset:
        with self.lock:
            if self.closing:
                raise ClosedError("data set")
            self.readers += 1
            return self.struct

    def release(self) -> None:
        with self.lock:
            self.readers -= 1
            if self.closing and self.readers == 0:
                self.give_back()

    def close(self) -> None:
        with self.lock:
            if not self.closing:
                self.closing = True
                if self.readers == 0:
                    self.give_back()

    def give_back(self) -> None:
        pass

    @property
    def size(self) -> int:
        struct = self.acquire()
        try:
            return int(struct.size(struct.context))
        finally:
            self.release()


class FileSource(Source):
    """A data set file, which the library maps."""

    def __init__(self, path: bytes):
        struct, text = _structs.Dataset(), ctypes.create_string_buffer(ERROR_BYTES)
        status = lib.coterie_dataset_open(path, ctypes.byref(struct), text, ERROR_BYTES)
        if status:
            raise error_of(status, text.value)
        super().__init__(struct)
        self.process = os.getpid()

    def give_back(self) -> None:
        if self.process == os.getpid():
            lib.coterie_dataset_close(ctypes.byref(self.struct))


class ArraySource(Source):
    """Arrays of float32 or int32, C order, of which the first axis counts examples. They are read where they lie."""

    def __init__(self, inputs: Sequence[Array], target: Array):
        self.inputs, self.target = tuple(inputs), target
        columns = [(a.ctypes.data, a.nbytes // len(a), a[0].size) for a in (*inputs, target)]
        *input_columns, (target_base, target_bytes, target_count) = columns
        examples, input_count = len(target), len(inputs)
        copy = ctypes.memmove

        def read(_context: Any, index: int, example: Any) -> int:
            def copy_example() -> None:
                wanted = example.contents
                if index >= examples:
                    raise IndexError(f"example {index} of {examples}")
                if wanted.input_count != input_count:
                    raise ValueError(f"the model takes {wanted.input_count} inputs, the data set has {input_count}")
                for i, (base, size, count) in enumerate(input_columns):
                    place = wanted.inputs[i]
                    if place.count != count:
                        raise ValueError(f"input {i} takes {place.count} numbers an example, the data set has {count}")
                    copy(place.floats, base + index * size, size)
                target_place = wanted.target
                if target_place.count != target_count:
                    raise ValueError(f"the loss wants {target_place.count} targets an example, the data set has "
                                     f"{target_count}")
                copy(target_place.floats, target_base + index * target_bytes, target_bytes)

            return guarded(copy_example)

        # The callbacks have addresses alone: whoever reads keeps this object, and it keeps the arrays.
        self.read = _structs.READ_EXAMPLE(read)
        super().__init__(_structs.Dataset(size=_structs.SIZE(lambda _context: examples), read_example=self.read))


def close_when_collected(owner: object, source: Source) -> None:
    weakref.finalize(owner, source.close)


def is_int(array: Array) -> bool:
    return bool(array.dtype == np.int32)
