"""TrainOptions: how a model is trained, as typed keyword arguments."""
from __future__ import annotations

import ctypes
import difflib
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from . import _structs
from ._text import text_bytes


class TrainOptions(TypedDict, total=False):
    """Everything may be left out. coterie_train.h and docs/SDK.md say what each means; their names are the same."""

    loss: str  # "softmax_cross_entropy" by default
    targets_are_values: bool  # by default: whether the data set's targets are
    label_smoothing: float
    loss_threshold: float
    class_weights: Sequence[float]
    ignore_label: str  # "-100", "255": of no loss, and counted nowhere
    optimizer: str  # "sgd" by default
    learning_rate: float
    momentum: float
    nesterov: bool
    weight_decay: float
    beta1: float
    beta2: float
    epsilon: float
    smoothing: float
    schedule: str  # of the learning rate: "cosine:warmup=100"
    batch_size: int  # 32 by default
    micro_batch_size: int
    epochs: int  # 1 by default
    steps_max: int
    clip_norm: float
    clip_value: float
    freeze: Sequence[str]  # patterns of parameters: "features.*"
    train_only: Sequence[str]
    freeze_statistics: bool
    seed: int
    memory_bytes_max: int
    train_last: int
    threads: int
    channels: Sequence[str]
    groups: Sequence[str]
    lora: str
    checkpoint_key: bytes  # 32 bytes
    storage: str  # "float32" or "bf16"
    loss_scale: str
    memory_budget_bytes: int
    augment: str
    qat: str  # "full", "weights", "full:4"
    optimise: str  # "O0" to "O3"
    heads: Sequence[str]  # outputs with a loss each: "age:mean_squared_error:0.5"


BY_TYPE = {"str": "texts", "bool": "flags", "int": "whole", "float": "numbers", "bytes": "keys",
           "Sequence[str]": "lists", "Sequence[float]": "weights"}
COUNTS = {"class_weights": "class_weight_count", "freeze": "freeze_count", "train_only": "train_only_count",
          "channels": "channel_count", "groups": "group_count", "heads": "head_count"}
MAX = {ctypes.c_uint32: 2**32 - 1, ctypes.c_uint64: 2**64 - 1}


def struct_of(options: Mapping[str, Any], targets_are_values: bool = False) -> _structs.TrainOptions:
    """As the library takes them. TypeError, ValueError: an option that there is not, of another type or out of range."""
    hints: dict[str, str] = {name: getattr(hint, "__forward_arg__", hint) for name, hint in TrainOptions.__annotations__.items()}
    struct = _structs.TrainOptions(targets_are_values=targets_are_values)
    members = dict(_structs.TrainOptions._fields_)
    for name, value in options.items():
        if name not in hints:
            near = difflib.get_close_matches(name, hints, 1)
            raise TypeError(f"there is no option {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
        if value is None:
            continue
        _set(struct, name, value, BY_TYPE[hints[name]], members[name])
    return struct


def _set(struct: _structs.TrainOptions, name: str, value: Any, kind: str, member: Any) -> None:
    if kind == "texts":
        setattr(struct, name, text_bytes(value, name))
    elif kind == "flags":
        setattr(struct, name, bool(value))
    elif kind == "whole":
        setattr(struct, name, whole(value, name, MAX[member]))
    elif kind == "numbers":
        setattr(struct, name, number(value, name))
    elif kind == "keys":
        if not isinstance(value, (bytes, bytearray)):
            raise TypeError(f"{name} is bytes, not {type(value).__name__}")
        _attach(struct, name, ctypes.c_char_p(bytes(value)))
        struct.checkpoint_key_size = len(value)
    else:
        if isinstance(value, (str, bytes)):
            raise TypeError(f"{name} is a sequence of {'texts' if kind == 'lists' else 'numbers'}, not one text")
        array: Any = (ctypes.c_char_p * len(value))(*(text_bytes(text, name) for text in value)) if kind == "lists" else \
            (ctypes.c_float * len(value))(*(number(one, name) for one in value))
        _attach(struct, name, ctypes.cast(array, member))
        setattr(struct, COUNTS[name], len(value))


def _attach(struct: _structs.TrainOptions, name: str, value: Any) -> None:
    setattr(struct, name, value)
    struct.__dict__.setdefault("kept", []).append(value)  # what is pointed to lives as long as the struct


def whole(value: Any, name: str, most: int) -> int:
    """Also NumPy's integers; no float and no bool by mistake."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} is a whole number, not {type(value).__name__}")
    number = value.__index__()
    if not 0 <= number <= most:
        raise ValueError(f"{name} must be in [0, {most}], is {number}")
    return int(number)


def number(value: Any, name: str) -> float:
    if isinstance(value, (str, bytes, bool)) or not hasattr(value, "__float__") and not hasattr(value, "__index__"):
        raise TypeError(f"{name} is a number, not {type(value).__name__}")
    return float(value)
