"""What `coterie simulate` is given: arrays as .npy files, who has what, and the job."""
from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Union, cast

import numpy as np

from ._arrays import Array
from ._dataset import Dataset, Examples, dataset_of
from ._model import Model
from ._options import whole
from ._source import is_int

EXAMPLES_MIN = 2  # of a device
FIELDS = ("name", "training", "update", "aggregation", "privacy", "population", "weight")
TRAINING = ("local_epochs", "batch_size", "proximal_mu", "steps_max", "label_smoothing", "freeze", "train_last", "heads")
OPTIMIZER = ("learning_rate", "momentum", "weight_decay", "nesterov")


@dataclass(frozen=True)
class Shares:
    """Every example once. `owner`: of each, its device, counted from 1; none: the program shares them out by `split`."""

    inputs: Array
    targets: Array
    owner: Array | None
    split: str | None
    devices: int
    classes: int | None  # None: the targets are numbers, of heads
    test: tuple[Array, Array] | None


def shares_of(model: Model, datasets: Union[Examples, Sequence[Examples]], split: str | None, devices: int | None,
              evaluate_on: Examples | None, devices_default: int, has_heads: bool = False) -> Shares:
    classes = _classes_of(model, has_heads)

    def read(examples: Examples, what: str) -> tuple[Array, Array]:
        return _arrays_of(model, classes, examples, what)

    def shared(inputs: Array, targets: Array, owner: Array | None, split: str | None, devices: int) -> Shares:
        if classes is not None:
            return Shares(inputs, targets, owner, split, devices, classes, test)
        if test is not None and test[1].shape[1:] != targets.shape[1:]:
            raise ValueError(f"evaluate_on: an example has targets of shape {test[1].shape[1:]}, those of devices {targets.shape[1:]}")
        all_labels = is_int(targets) and (test is None or is_int(test[1]))
        highest = max(int(one.max()) for one in ([targets] if test is None else [targets, test[1]]))
        return Shares(inputs, targets, owner, split, devices, highest + 1 if all_labels else None, test)

    test = None if evaluate_on is None else read(evaluate_on, "evaluate_on")
    if isinstance(datasets, (Dataset, tuple)):
        if split is not None and (not isinstance(split, str) or split.startswith(("group", "file"))):
            raise ValueError(f"split is 'iid', 'dirichlet:ALPHA', 'shards:K', 'quantity:ALPHA', 'feature:noise', "
                             f"'feature:rotate' or 'labels:turned', is {split!r}; a list of data sets says who has what")
        count = whole(devices_default if devices is None else devices, "devices", 2000)
        inputs, targets = read(cast(Examples, datasets), "the data set")
        return shared(inputs, targets, None, split or "iid", max(count, 1))
    if split is not None:
        raise ValueError("split is for one data set; a list has the data set of each device")
    each = [read(one, f"data set {i}") for i, one in enumerate(datasets)]
    if not each:
        raise ValueError("datasets has no data set; each is that of a device")
    if devices is not None and devices != len(each):
        raise ValueError(f"devices is {devices}, and datasets has {len(each)} data sets; leave devices out")
    for i, (_, labels) in enumerate(each):
        if len(labels) < EXAMPLES_MIN:
            raise ValueError(f"data set {i} has {len(labels)} example; a device has {EXAMPLES_MIN} at least")
        if classes is None and labels.shape[1:] != each[0][1].shape[1:]:
            raise ValueError(f"data set {i}: an example has targets of shape {labels.shape[1:]}, those of data set 0 "
                             f"{each[0][1].shape[1:]}")
    owner = np.repeat(np.arange(1, len(each) + 1), [len(labels) for _, labels in each])
    return shared(np.concatenate([x for x, _ in each]), np.concatenate([y for _, y in each]), owner, None, len(each))


def _classes_of(model: Model, has_heads: bool) -> int | None:
    """Of its output, in a job without heads; in one with them each has its own."""
    inputs, output = model.inputs, model.output
    if len(inputs) != 1 or inputs[0].dtype != "float32":
        raise ValueError(f"a simulation has models of one float32 input; this one takes "
                         f"{', '.join(f'{one.dtype} {one.shape}' for one in inputs)}")
    if has_heads:
        return None
    if len(output.shape) != 1 or output.shape[0] < 2:
        raise ValueError(f"a simulation has models that tell classes apart, with a number for each; this one gives {output.shape}")
    return output.shape[0]


def _arrays_of(model: Model, classes: int | None, examples: Examples, what: str) -> tuple[Array, Array]:
    try:
        data = dataset_of(examples)
        data._check_fits(model.inputs)
        inputs, targets = data._arrays().inputs[0], data.targets
    except (TypeError, ValueError) as error:
        raise type(error)(f"{what}: {error}") from None
    inputs = inputs.reshape(len(inputs), *model.inputs[0].shape)
    if classes is None:
        return inputs, targets.reshape(len(targets), -1)  # the heads' targets, one behind the other
    if not is_int(targets) or targets.ndim != 1:
        raise TypeError(f"{what}: a job learns classes: targets are whole numbers, one an example, not {targets.dtype} of shape "
                        f"{targets.shape}")
    if int(targets.max()) >= classes:
        raise ValueError(f"{what}: class {int(targets.max())} is none of the model's {classes}, which are counted from 0")
    return inputs, targets


def write_shares(shares: Shares, folder: Path) -> tuple[str, list[str]]:
    """Into `folder`, in which the program is to run. The words for --data, and those that say how it is shared out."""
    shape = shares.inputs.shape[1:]
    columns = [{"name": f"x{i + 1}", "kind": "number", "mean": 0, "deviation": 0, "low": 0, "high": 0, "missing": 0}
               for i in range(shape[0] if len(shape) == 1 else 0)]
    contract = {"schema": "coterie.input_contract.v1", "kind": "array", "name": "arrays", "standardise": False, "one_hot": True,
                "refuses_missing": False, "columns": columns,
                "inputs": [{"name": "features", "type": "float32", "shape": list(shape)}],
                "target": _target_of(shares)}
    (folder / "contract.json").write_text(json.dumps(contract), encoding="utf-8")
    np.save(folder / "x.npy", shares.inputs)
    np.save(folder / "y.npy", shares.targets)
    data = "npy:x.npy,y.npy?contract=contract.json"
    if shares.test is not None:
        np.save(folder / "test-x.npy", shares.test[0])
        np.save(folder / "test-y.npy", shares.test[1])
        data += "&test=test-x.npy,test-y.npy"
    if shares.owner is None:
        return data, ["--split", str(shares.split)]
    (folder / "split.txt").write_text("\n".join(map(str, shares.owner.tolist())) + "\n", encoding="ascii")
    return data, ["--split", "file:split.txt"]


def _target_of(shares: Shares) -> dict[str, Any]:
    target: dict[str, Any]
    if shares.classes is None:
        values = shares.targets.astype(np.float64)
        target = {"kind": "number", "mean": float(values.mean()), "deviation": float(values.std()), "low": float(values.min()),
                  "high": float(values.max())}
    else:
        target = {"kind": "class", "classes": [str(i) for i in range(shares.classes)]}
    cells = shares.targets[0].size
    return {**target, "cells": cells} if cells > 1 else target


def heads_of(fields: Mapping[str, Any]) -> list[Any]:
    """Those of a job, each as an object. ValueError: a text that is no head."""
    return [_head_of(one) if isinstance(one, str) else one for one in fields.get("heads", fields.get("training", {}).get("heads", ()))]


def _head_of(text: str) -> dict[str, Any]:
    """"age:l1:0.5"; a name may have colons."""
    output, _, loss = text.rpartition(":")
    weight = 1.0
    try:
        weight = float(loss)
        output, _, loss = output.rpartition(":")
    except ValueError:
        pass
    if not output or not loss:
        raise ValueError(f"a head is 'OUTPUT:LOSS' or 'OUTPUT:LOSS:WEIGHT', is {text!r}")
    return {"output": output, "loss": loss, "weight": weight}


def job_of(devices: int, rounds: Union[int, Mapping[str, Any]], fraction: float, security: str,
           strategy: Union[str, Mapping[str, Any]], fields: Mapping[str, Any], are_values: bool = False) -> dict[str, Any]:
    """As a server takes it, but without a model and held-out data: those of the simulation."""
    if not 0 < fraction <= 1:
        raise ValueError(f"fraction is in (0, 1], is {fraction}")
    known = (*FIELDS, *TRAINING, "optimizer", *OPTIMIZER)
    for name in fields:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            raise TypeError(f"a job has no field {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
    job: dict[str, Any] = {"name": "simulation"}
    job.update({name: fields[name] for name in FIELDS if name in fields})
    training = dict(job.get("training", {}))
    training.update({name: fields[name] for name in TRAINING if name in fields})
    kind = fields.get("optimizer", training.get("optimizer", {}))
    optimizer = {"kind": kind} if isinstance(kind, str) else dict(kind)
    optimizer.update({name: fields[name] for name in OPTIMIZER if name in fields})
    if optimizer:
        training["optimizer"] = optimizer
    heads = heads_of(fields)
    if heads:
        training["heads"] = heads
        if are_values:
            training.setdefault("target", "values")
    job["training"] = training
    job["rounds"] = {"goal_count": max(1, int(fraction * devices + 0.5)),
                     **(rounds if isinstance(rounds, Mapping) else {"count": whole(rounds, "rounds", 100_000)})}
    job["strategy"] = dict(strategy) if isinstance(strategy, Mapping) else {"kind": strategy}
    job["privacy"] = {"level": security, **job.get("privacy", {})}
    try:
        json.dumps(job, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise type(error)(f"a job's fields are numbers, texts, lists and objects, as JSON has them: {error}") from None
    return job
