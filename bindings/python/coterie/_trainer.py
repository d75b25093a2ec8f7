"""Trainer: one training of a model, step by step, with checkpoints."""
from __future__ import annotations

import ctypes
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Callable, Optional

import numpy as np

from . import _structs
from ._arrays import Array
from ._dataset import Examples, dataset_of
from ._handle import Handle, open_handle
from ._library import lib
from ._options import TrainOptions, struct_of
from ._text import StrPath, path_bytes

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._model import Model


@dataclass(frozen=True)
class TrainProgress:
    """Where a training is. `loss_mean` and `accuracy` are of all examples since its start, `step_loss` of the last step;
    `learning_rate` is the next step's."""

    finished: bool
    steps: int
    steps_in_all: int
    examples: int
    step_loss: float
    loss_mean: float
    accuracy: float
    learning_rate: float


@dataclass(frozen=True)
class EpochProgress:
    """One epoch, counted from 1: means of its examples alone, before and while they were learnt from."""

    epoch: int
    loss: float
    accuracy: float
    progress: TrainProgress


@dataclass(frozen=True)
class Head:
    """What one of several heads has come to. `measure`: "accuracy", "mae" or "none"."""

    output: str
    loss_kind: str
    weight: float
    rows: int
    loss: float  # not weighted
    measure: str
    value: float


@dataclass(frozen=True)
class TrainMemory:
    """coterie_train_memory: what a training takes, and how it was fitted to its budget."""

    arena_bytes: int
    parameter_bytes: int
    optimizer_bytes: int
    gradient_bytes: int
    planned_bytes: int
    order_bytes: int
    prepared_bytes: int
    micro_batch_size: int
    recomputed_steps: int
    recomputed_share: float
    narrowed_bytes_saved: int
    narrowed_tensors: int


@dataclass(frozen=True)
class WatchHit:
    """A check that fired on a tensor; `layer` and `tensor` are "" where it is one of the training as a whole, `setting`
    where it has no threshold. Steps count from 0; `value` is the one that it saw first."""

    check: str
    layer: str
    tensor: str
    setting: str
    comparison: str
    first_step: int
    last_step: int
    looks: int
    value: float
    threshold: float


@dataclass(frozen=True)
class WatchReport:
    """What the watch of a training has found so far: `looks` steps were read, `hits` are in the order of their first step,
    `left_out` more had no room. It may come to hold `bytes_max`, however long the training is."""

    looks: int
    left_out: int
    bytes_max: int
    hits: tuple[WatchHit, ...]


# They may return True, which ends the run.
OnStep = Callable[[TrainProgress], Optional[bool]]
OnEpoch = Callable[[EpochProgress], Optional[bool]]


class Trainer(Handle):
    """Plans a training and allocates all of its memory. Model and data set may be closed before it."""

    _kind = "trainer"

    def __init__(self, model: Model, dataset: Examples, **options: Unpack[TrainOptions]):
        """CoterieError: an option that does not fit the model, more memory than allowed. TypeError, ValueError: options or
        examples that cannot be."""
        examples = dataset_of(dataset)
        examples._check_fits(model.inputs)
        struct = struct_of(options, examples.targets_are_values)
        source = examples._source
        data = source.acquire()
        try:
            with model._core.use() as pointer:
                opened = open_handle(lib.coterie_trainer_open, pointer, ctypes.byref(struct), ctypes.byref(data))
        except BaseException:
            source.release()
            raise
        super().__init__(opened)
        self._finalizer.detach()  # the examples are released behind the trainer, whoever closes it
        self._finalizer = weakref.finalize(self, _close, self._core.close, [source])
        self._flat_count = model.flat_count
        self._head_count = struct.head_count
        self._examples, self._batch = len(examples), int(options.get("batch_size") or 32)

    def close(self) -> None:
        self._core.close()
        self._finalizer()

    def step(self) -> TrainProgress:
        """Trains on the next batch. CoterieError: CONFLICT, training is finished; UNAVAILABLE, the data set could not be
        read; INVALID_ARGUMENT, a label out of range, or a loss that is not finite any more."""
        filled = _structs.TrainProgress()
        self._call("step", ctypes.byref(filled))
        return progress_of(filled)

    def run(self, steps: int | None = None, *, on_step: OnStep | None = None, on_epoch: OnEpoch | None = None) -> TrainProgress:
        """So many steps, or until training is finished. What the callbacks raise ends it and comes out; ^C, too: the
        trainer stays as the last step left it."""
        if steps is not None and steps < 0:
            raise ValueError(f"steps must be at least 0, is {steps}")
        progress = start = self.progress
        per_epoch = -(-self._examples // self._batch)
        left = steps
        while not progress.finished and left != 0:
            progress = self.step()
            left = None if left is None else left - 1
            if on_step is not None and on_step(progress):
                break
            if progress.steps % per_epoch == 0 or progress.finished:
                epoch = _epoch(-(-progress.steps // per_epoch), start, progress)
                start = progress
                if on_epoch is not None and on_epoch(epoch):
                    break
        return progress

    @property
    def progress(self) -> TrainProgress:
        filled = _structs.TrainProgress()
        self._call("progress", ctypes.byref(filled))
        return progress_of(filled)

    @property
    def heads(self) -> list[Head]:
        """Of the training so far, in the option's order."""
        heads = []
        for index in range(self._head_count):
            filled = _structs.Head()
            self._call("head", index, ctypes.byref(filled))
            heads.append(head_of(filled))
        return heads

    @property
    def memory(self) -> TrainMemory:
        filled = _structs.TrainMemory()
        self._call("memory", ctypes.byref(filled))
        return memory_of(filled)

    def watch(self, checks: StrPath | None) -> None:
        """From the next step on: "recommended", or the path of a watch file; in the place of an earlier watch. None ends it.
        CoterieError: NOT_FOUND, MALFORMED; INVALID_ARGUMENT, which names the keys that are wrong, or a check that is for
        nothing of the model; TOO_LARGE, more than the training's memory limit leaves."""
        self._call("watch", None if checks is None else path_bytes(checks))

    @property
    def watched(self) -> WatchReport:
        """CoterieError: CONFLICT, nothing is watched."""
        summary = _structs.WatchSummary()
        self._call("watch_summary", ctypes.byref(summary))
        hits = []
        for index in range(summary.hit_count):
            hit = _structs.WatchHit()
            self._call("watch_hit", index, ctypes.byref(hit))
            hits.append(hit_of(hit))
        return WatchReport(summary.looks, summary.left_out, summary.bytes_max, tuple(hits))

    def model(self) -> Model:
        """The model as it is trained so far: an object of its own."""
        from ._model import Model

        pointer = ctypes.c_void_p()
        self._call("model", ctypes.byref(pointer))
        return Model(pointer)

    def delta(self) -> Array:
        """Trained minus opened, of all parameters in the order of the file: what an update is made of."""
        values = np.empty(self._flat_count, np.float32)
        self._call("delta", values.ctypes.data_as(ctypes.POINTER(ctypes.c_float)), values.size)
        return values

    def save_checkpoint(self, path: StrPath) -> None:
        """Everything later steps depend on, written durably: the old checkpoint or the new one, whatever happens."""
        self._call("save_checkpoint", path_bytes(path))

    def restore_checkpoint(self, path: StrPath) -> None:
        """Goes on from there to the same bits; of a trainer with the same model, options and examples. CoterieError, which
        changes nothing: NOT_FOUND, DATA_LOSS, CONFLICT, PERMISSION_DENIED, UNSUPPORTED_VERSION."""
        self._call("restore_checkpoint", path_bytes(path))


def _close(close_trainer: Callable[[], None], sources: list[object]) -> None:
    close_trainer()
    while sources:
        sources.pop().release()  # type: ignore[attr-defined]


def _epoch(number: int, start: TrainProgress, end: TrainProgress) -> EpochProgress:
    examples = max(end.examples - start.examples, 1)
    of_both = [(end.examples * getattr(end, name) - start.examples * getattr(start, name)) / examples
               for name in ("loss_mean", "accuracy")]
    return EpochProgress(number, of_both[0], of_both[1], end)


def progress_of(filled: _structs.TrainProgress) -> TrainProgress:
    return TrainProgress(bool(filled.finished), *(getattr(filled, name) for name, _ in filled._fields_[2:]))


def head_of(filled: _structs.Head) -> Head:
    values = (getattr(filled, name) for name, _ in filled._fields_[1:])
    return Head(*(value.decode("utf-8", "replace") if isinstance(value, bytes) else value for value in values))


def hit_of(filled: _structs.WatchHit) -> WatchHit:
    values = (getattr(filled, name) for name, _ in filled._fields_[1:])
    return WatchHit(*(value.decode(errors="replace") if isinstance(value, bytes) else value for value in values))


def memory_of(filled: _structs.TrainMemory) -> TrainMemory:
    return TrainMemory(*(getattr(filled, name) for name, _ in filled._fields_[1:]))
