"""Model: a model file in memory: asked, judged, trained, saved."""
from __future__ import annotations

import ctypes
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Mapping, Sequence

import numpy as np

from . import _onnx, _structs
from ._arrays import Array, as_floats, as_ints, checked
from ._dataset import Examples, dataset_of
from ._errors import Code, CoterieError, error_of
from ._handle import Handle, open_handle
from ._library import lib
from ._options import TrainOptions, struct_of, whole
from ._text import StrPath, path_bytes, text_bytes
from ._trainer import Head, OnEpoch, OnStep, TrainMemory, Trainer, head_of, memory_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

FLOATS, INTS = ctypes.POINTER(ctypes.c_float), ctypes.POINTER(ctypes.c_int32)
PREDICT_EXAMPLES = 4096  # of one call, so that ^C comes in between


@dataclass(frozen=True)
class TensorInfo:
    """An input, the output or a parameter. `shape` is without the batch; images are height, width, channels."""

    name: str
    dtype: str  # "float32" or "int32"
    shape: tuple[int, ...]
    size: int


@dataclass(frozen=True)
class Evaluation:
    examples: int
    loss: float  # may be infinite or NaN: that is what such parameters are worth
    accuracy: float  # in [0, 1]; 0 for a regression


@dataclass(frozen=True)
class FineTuning:
    """What came of Model.fine_tune, on the examples that were held out. `model`: the trained one if it is better."""

    model: Model | None
    held_out: int
    before: Evaluation
    after: Evaluation

    @property
    def is_better(self) -> bool:
        return self.model is not None


class Model(Handle):
    """A model. Threads may share it: one at a time is in the library with it."""

    _kind = "model"

    def __init__(self, pointer: ctypes.c_void_p):
        """Not to be called: load, from_bytes, from_onnx, from_tflite, train and Trainer.model make models."""
        super().__init__(pointer)

    @classmethod
    def load(cls, path: StrPath) -> Model:
        """A model file (.cotf). CoterieError: NOT_FOUND, PERMISSION_DENIED, MALFORMED, TOO_LARGE, UNSUPPORTED_VERSION."""
        return cls(open_handle(lib.coterie_model_open, path_bytes(path)))

    @classmethod
    def from_bytes(cls, content: bytes) -> Model:
        """The bytes of a model file, as a server or a database has them."""
        content = bytes(content)
        return cls(open_handle(lib.coterie_model_open_bytes, content, len(content)))

    @classmethod
    def from_onnx(cls, path: StrPath, *, dims: Mapping[str, int] | None = None, output: str | None = None,
                  constant: Sequence[str] = (), trainable: Sequence[str] = (), program: StrPath | None = None) -> Model:
        """An ONNX model (opset 1 to 22), converted by the program `coterie model convert`, which must be installed:
        `program`, $COTERIE_PROGRAM or `coterie` on PATH. `dims`: sizes of dimensions that the model leaves open.
        FileNotFoundError: there is no such program. CoterieError: what it says."""
        return cls.from_bytes(_onnx.convert(path, dims or {}, output, constant, trainable, program))

    @classmethod
    def from_tflite(cls, path: StrPath, *, dims: Mapping[str, int] | None = None, output: str | None = None,
                    constant: Sequence[str] = (), trainable: Sequence[str] = (), program: StrPath | None = None) -> Model:
        """A TFLite model; as from_onnx. One that computes in int8 predicts by its integers, and is not trained."""
        return cls.from_onnx(path, dims=dims, output=output, constant=constant, trainable=trainable, program=program)

    def to_onnx(self, path: StrPath, *, program: StrPath | None = None) -> None:
        """Writes an ONNX model (opset 17), by `coterie model export`; as from_onnx."""
        _onnx.export(self.to_bytes(), path, program)

    def __repr__(self) -> str:
        if self.closed:
            return "<Model, closed>"
        info = self._info()
        return f"<Model {info.name.decode('utf-8', 'replace')!r}, {info.parameters:,} parameters>"

    # ---- what it is

    def _info(self) -> _structs.ModelInfo:
        info = _structs.ModelInfo()
        self._call("describe", ctypes.byref(info))
        return info

    @property
    def name(self) -> str:
        return str(self._info().name.decode("utf-8", "replace"))

    @property
    def flat_count(self) -> int:
        """Numbers in an update: the parameters with the padding between them."""
        return int(self._info().flat_count)

    @property
    def flops(self) -> float:
        """Floating-point operations of one example's forward pass."""
        return float(self._info().flops)

    @property
    def computes_in_int8(self) -> bool:
        """Whether it predicts and is evaluated by integers (`coterie model quantise --full`), and is not trained."""
        return bool(self._info().computes_in_int8)

    @property
    def inputs(self) -> list[TensorInfo]:
        return [self._tensor("input", i) for i in range(self._info().input_count)]

    @property
    def output(self) -> TensorInfo:
        return self._tensor("output")

    @property
    def outputs(self) -> list[TensorInfo]:
        """All of them, the model's own first."""
        return [self._tensor("output_at", i) for i in range(self._info().output_count)]

    @property
    def parameters(self) -> list[TensorInfo]:
        """Running statistics included. `model["dense.weight"]` has the values of one."""
        return [self._tensor("parameter", i) for i in range(self._info().parameter_count)]

    def _tensor(self, what: str, *index: int) -> TensorInfo:
        filled = _structs.Tensor()
        with self._core.use() as pointer:  # texts and shapes are the model's: read before anybody changes it
            status = getattr(lib, f"coterie_model_{what}")(pointer, *index, ctypes.byref(filled))
            if status:
                raise error_of(status, lib.coterie_model_last_error(pointer))
            return TensorInfo(filled.name.decode("utf-8", "replace"), "int32" if filled.type == 2 else "float32",
                              tuple(filled.shape[:filled.rank]), filled.elements)

    def _parameter(self, name: str) -> TensorInfo:
        for info in self.parameters:
            if info.name == name:
                return info
        raise CoterieError(Code.NOT_FOUND, f"the model has no parameter {name!r}")

    def __getitem__(self, name: str) -> Array:
        """A copy of a parameter's values, in its shape. CoterieError: NOT_FOUND."""
        info = self._parameter(name)
        values = np.empty(info.shape, np.float32)
        self._call("get_parameter", text_bytes(name, "name"), values.ctypes.data_as(FLOATS), values.size)
        return values

    def __setitem__(self, name: str, values: Any) -> None:
        """Makes a new model file in memory, at the cost of opening one; open trainers keep what they have."""
        info = self._parameter(name)
        floats = as_floats(checked(values, name), name)
        if floats.shape != info.shape:
            raise ValueError(f"{name} has shape {info.shape}, not {floats.shape}")
        self._call("set_parameter", text_bytes(name, "name"), floats.ctypes.data_as(FLOATS), floats.size)

    def replace_head(self, layer: str, classes: int, *, seed: int = 0) -> None:
        """The last layer with weights, by its name, gets so many outputs, with fresh weights."""
        self._call("replace_head", text_bytes(layer, "layer"), whole(classes, "classes", 2**32 - 1),
                   whole(seed, "seed", 2**64 - 1))

    # ---- what it says

    def predict(self, inputs: Any) -> Array:
        """What the model says of examples: an array whose first axis counts them, or a tuple or list of arrays for several
        inputs. Returns float32 of shape (examples, *output.shape)."""
        output = self.output
        arrays = self._arrays_of(inputs)
        answer = np.empty((len(arrays[0]), *output.shape), np.float32)
        for first in range(0, len(answer), PREDICT_EXAMPLES):
            self._predict([array[first:first + PREDICT_EXAMPLES] for array in arrays], answer[first:first + PREDICT_EXAMPLES])
        return answer

    def predict_all(self, inputs: Any) -> dict[str, Array]:
        """The same of all outputs, by their names."""
        arrays = self._arrays_of(inputs)
        infos = self.outputs
        answers = [np.empty((len(arrays[0]), *info.shape), np.float32) for info in infos]
        for first in range(0, len(arrays[0]), PREDICT_EXAMPLES):
            values = _values_of([array[first:first + PREDICT_EXAMPLES] for array in arrays])
            parts = [answer[first:first + PREDICT_EXAMPLES] for answer in answers]
            places = (FLOATS * len(parts))(*(part.ctypes.data_as(FLOATS) for part in parts))
            sizes = (ctypes.c_size_t * len(parts))(*(part.size for part in parts))
            self._call("predict_all", values, len(arrays), len(parts[0]), places, sizes, len(parts))
        return {info.name: answer for info, answer in zip(infos, answers)}

    def _arrays_of(self, inputs: Any) -> list[Array]:
        infos = self.inputs
        given = inputs if len(infos) > 1 and isinstance(inputs, (tuple, list)) else [inputs]
        if len(given) != len(infos):
            raise ValueError(f"the model takes {len(infos)} inputs, {len(given)} are given")
        arrays = [_as_input(values, info) for values, info in zip(given, infos)]
        if len({len(array) for array in arrays}) > 1:
            raise ValueError(f"the inputs have {', '.join(str(len(a)) for a in arrays)} examples")
        return arrays

    def _predict(self, arrays: list[Array], output: Array) -> None:
        values = _values_of(arrays)
        self._call("predict", values, len(arrays), len(output), output.ctypes.data_as(FLOATS), output.size)

    def evaluate(self, dataset: Examples, **options: Unpack[TrainOptions]) -> Evaluation:
        """How good it is on these examples. Options that count: loss and what belongs to it, batch_size,
        memory_bytes_max, threads."""
        examples = dataset_of(dataset)
        examples._check_fits(self.inputs)
        struct, filled = struct_of(options, examples.targets_are_values), _structs.Evaluation()
        data = examples._source.acquire()
        try:
            self._call("evaluate", ctypes.byref(data), ctypes.byref(struct), ctypes.byref(filled))
        finally:
            examples._source.release()
        return Evaluation(filled.examples, filled.loss_mean, filled.accuracy)

    def evaluate_heads(self, dataset: Examples, **options: Unpack[TrainOptions]) -> list[Head]:
        """What each of the option's heads comes to, in their order. Options count as in evaluate()."""
        examples = dataset_of(dataset)
        examples._check_fits(self.inputs)
        struct = struct_of(options, examples.targets_are_values)
        heads = (_structs.Head * struct.head_count)(*(_structs.Head() for _ in range(struct.head_count)))
        data = examples._source.acquire()
        try:
            with self._core.use() as pointer:  # texts are the model's: read before anybody changes it
                status = lib.coterie_model_evaluate_heads(pointer, ctypes.byref(data), ctypes.byref(struct), heads,
                                                          struct.head_count, None)
                if status:
                    raise error_of(status, lib.coterie_model_last_error(pointer))
                return [head_of(head) for head in heads]
        finally:
            examples._source.release()

    def measure(self, dataset: Examples, names: Sequence[str], **options: Unpack[TrainOptions]) -> dict[str, float]:
        """Measures by their names: "top-5" (or another number, one of them), "precision", "recall" and "f1" (means over
        the classes), "auc", "mae", "rmse", "r2", "perplexity". INVALID_ARGUMENT where one does not fit the loss or the
        examples. Options count as in evaluate()."""
        examples = dataset_of(dataset)
        examples._check_fits(self.inputs)
        struct, wanted = struct_of(options, examples.targets_are_values), list(names)
        texts = (ctypes.c_char_p * len(wanted))(*[text_bytes(name, "names") for name in wanted])
        values, data = (ctypes.c_double * len(wanted))(), examples._source.acquire()
        try:
            self._call("measure", ctypes.byref(data), ctypes.byref(struct), texts, len(wanted), values, None)
        finally:
            examples._source.release()
        return dict(zip(wanted, values))

    # ---- training

    def train(self, dataset: Examples, *, on_step: OnStep | None = None, on_epoch: OnEpoch | None = None,
              checkpoint: StrPath | None = None, resume: bool = False, **options: Unpack[TrainOptions]) -> Model:
        """Trains, and returns the trained model; this one stays as it is. `on_step` and `on_epoch` are called in between;
        returning True ends the training early. With `checkpoint` a training that ^C or an exception ends is left there, and
        `resume` goes on with it, if there is one, to the same bits; a finished training removes it."""
        with Trainer(self, dataset, **options) as trainer:
            place = None if checkpoint is None else Path(checkpoint)
            if resume and place is not None and place.exists():
                trainer.restore_checkpoint(place)
            try:
                trainer.run(on_step=on_step, on_epoch=on_epoch)
            except BaseException:
                if place is not None:
                    trainer.save_checkpoint(place)
                raise
            if place is not None:
                place.unlink(missing_ok=True)
            return trainer.model()

    def fine_tune(self, dataset: Examples, *, held_out_share: float = 0.2, **options: Unpack[TrainOptions]) -> FineTuning:
        """Trains on these examples but for a share, which is always the same, and keeps the result only if it is better for
        that: more are right, or as many with a lower loss. This model stays as it is."""
        examples = dataset_of(dataset)
        examples._check_fits(self.inputs)
        struct, filled = struct_of(options, examples.targets_are_values), _structs.FineTuning()
        pointer, data = ctypes.c_void_p(), examples._source.acquire()
        try:
            self._call("fine_tune", ctypes.byref(struct), ctypes.byref(data), held_out_share, _structs.ON_STEP(0), None,
                       ctypes.byref(filled), ctypes.byref(pointer))
        finally:
            examples._source.release()
        return FineTuning(Model(pointer) if filled.is_better else None, filled.held_out,
                          Evaluation(filled.held_out, filled.loss_before, filled.accuracy_before),
                          Evaluation(filled.held_out, filled.loss_after, filled.accuracy_after))

    def plan_training(self, examples: int, **options: Unpack[TrainOptions]) -> TrainMemory:
        """How much memory a training on so many examples would take, without taking it."""
        struct, filled = struct_of(options), _structs.TrainMemory()
        self._call("plan_training", ctypes.byref(struct), whole(examples, "examples", 2**64 - 1), ctypes.byref(filled))
        return memory_of(filled)

    # ---- as a file

    def save(self, path: StrPath) -> None:
        """Written durably: the old file or the new one, whatever happens."""
        self._call("save", path_bytes(path))

    def to_bytes(self) -> bytes:
        content, count = ctypes.POINTER(ctypes.c_uint8)(), ctypes.c_size_t()
        with self._core.use() as pointer:  # the bytes are the model's
            status = lib.coterie_model_bytes(pointer, ctypes.byref(content), ctypes.byref(count))
            if status:
                raise error_of(status, lib.coterie_model_last_error(pointer))
            return ctypes.string_at(content, count.value)

    __bytes__ = to_bytes

    def __reduce__(self) -> tuple[object, ...]:
        return Model.from_bytes, (self.to_bytes(),)


def _values_of(arrays: list[Array]) -> Any:
    values = (_structs.Values * len(arrays))()
    for place, array in zip(values, arrays):
        place.count = array.size
        if array.dtype == np.int32:
            place.ints = array.ctypes.data_as(INTS)
        else:
            place.floats = array.ctypes.data_as(FLOATS)
    return values


def _as_input(values: Any, info: TensorInfo) -> Array:
    what = f"input {info.name!r}"
    array = checked(values, what)
    array = as_ints(array, what) if info.dtype == "int32" else as_floats(array, what)
    if array.ndim == 0 or len(array) == 0:
        raise ValueError(f"{what} has shape {array.shape}: there are no examples")
    if array.size != len(array) * info.size:
        hint = "; an example alone is array[None]" if array.shape == info.shape else ""
        raise ValueError(f"{what} takes {info.size} numbers an example {info.shape}, given are {array[0].size} of shape "
                         f"{array.shape[1:]}{hint}")
    return array
