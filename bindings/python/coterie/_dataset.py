"""Dataset: labelled examples, from arrays, tables and data set files."""
from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any, Sequence, Union

from ._arrays import Array, as_floats, as_ints, checked
from ._csv import CsvEncoding
from ._source import ArraySource, FileSource, Source, close_when_collected, is_int
from ._text import StrPath, path_bytes

if TYPE_CHECKING:
    from ._model import TensorInfo

Examples = Union["Dataset", "tuple[Any, Any]"]  # or (inputs, targets), as from_numpy takes them


class Dataset:
    """Examples that training, evaluation and clients read, also several at once. Closing one that is read waits with
    giving it back until it is not."""

    def __init__(self, source: Source, encoding: CsvEncoding | None = None):
        """Not to be called: from_numpy, from_csv and open make data sets."""
        self._source = source
        self.encoding = encoding  # of from_csv: how other tables become the same numbers
        close_when_collected(self, source)

    @classmethod
    def from_numpy(cls, inputs: Any, targets: Any) -> Dataset:
        """`inputs`: an array whose first axis counts examples, or a tuple or list of arrays for a model of several inputs;
        images are height, width, channels. float32 in C order is read where it lies (change it, and the data set has
        changed), all else is copied. Arrays of int32, int64 and their kin stay integers, for models that take them; floats,
        bool and uint8 are float32.
        `targets`: integers are classes, counted from 0; floats are what a regression is to give.
        TypeError, ValueError: no numbers, no examples, not the same number of them everywhere, one that is not finite.
        """
        several = isinstance(inputs, (tuple, list)) and len(inputs) > 0 and hasattr(inputs[0], "dtype")
        arrays = [_input(one, f"input {i}") for i, one in enumerate(inputs if several else [inputs])]
        target = checked(targets, "the target")
        target = as_ints(target, "the target") if target.dtype.kind in "iu" else as_floats(target, "the target")
        for what, array in [*((f"input {i}", a) for i, a in enumerate(arrays)), ("the target", target)]:
            if array.ndim == 0 or array.size == 0:
                raise ValueError(f"{what} has shape {array.shape}: it has no examples")
            if len(array) != len(target):
                raise ValueError(f"{what} has {len(array)} examples, the target {len(target)}")
        if is_int(target) and int(target.min()) < 0:
            raise ValueError("a class is counted from 0, the target has negative ones; floats are for regressions")
        return cls(ArraySource(arrays, target))

    @classmethod
    def from_csv(cls, path: StrPath, target: str | Sequence[str], *, regression: bool | Sequence[bool] = False,
                 encoding: CsvEncoding | None = None) -> Dataset:
        """A table with a header row: columns of numbers get mean 0 and deviation 1, all others are categories, one-hot.
        Every different text of the target is a class, in order; with `regression` it is a number. The encoding is fitted
        to this table, or the one that is given: test data want that of their training data (`train.encoding`).
        Several targets, for a model with several heads, are columns in the order of the heads: an example's row has a
        number of each. `regression` is for all of them then, or one for each: from_csv(path, ["class", "age"],
        regression=[False, True]).
        ValueError: names line and column."""
        fitted, inputs, targets = CsvEncoding.read(path, target, regression=regression, encoding=encoding)
        return cls(ArraySource([inputs], targets), fitted)

    @classmethod
    def open(cls, path: StrPath) -> Dataset:
        """A data set file (.cotf), which is mapped: it may be larger than the memory. CoterieError."""
        return cls(FileSource(path_bytes(path)))

    def __len__(self) -> int:
        return self._source.size

    def __repr__(self) -> str:
        return "<Dataset, closed>" if self._source.closing else f"<Dataset of {len(self)} examples>"

    @property
    def inputs(self) -> Array | tuple[Array, ...]:
        """The numbers that a model is given, as predict takes them. TypeError: they are in a data set file."""
        arrays = self._arrays().inputs
        return arrays[0] if len(arrays) == 1 else arrays

    @property
    def targets(self) -> Array:
        """The classes, or the numbers of a regression. TypeError: they are in a data set file."""
        return self._arrays().target

    def _arrays(self) -> ArraySource:
        if not isinstance(self._source, ArraySource):
            raise TypeError("the examples are in a data set file, and not in arrays")
        return self._source

    @property
    def targets_are_values(self) -> bool:
        """Whether the targets are known to be numbers instead of classes. It is not known of a data set file."""
        return isinstance(self._source, ArraySource) and not is_int(self._source.target)

    def close(self) -> None:
        self._source.close()

    def __enter__(self) -> Dataset:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _check_fits(self, inputs: Sequence[TensorInfo]) -> None:
        """Before the library is asked, which can tell neither names nor types."""
        if not isinstance(self._source, ArraySource):
            return
        arrays = self._source.inputs
        if len(arrays) != len(inputs):
            raise ValueError(f"the model takes {len(inputs)} inputs, the data set has {len(arrays)}")
        for info, array in zip(inputs, arrays):
            if array[0].size != info.size:
                raise ValueError(f"input {info.name!r} takes {info.size} numbers an example {info.shape}, the data set "
                                 f"has {array[0].size} {array.shape[1:]}")
            if str(array.dtype) != info.dtype:
                raise TypeError(f"input {info.name!r} takes {info.dtype}, the data set has {array.dtype}: convert it with "
                                f".astype({info.dtype!r})")


def _input(values: Any, what: str) -> Array:
    array = checked(values, what)
    return as_ints(array, what) if array.dtype.kind in "iu" and array.dtype.itemsize > 1 else as_floats(array, what)


def dataset_of(examples: Examples) -> Dataset:
    if isinstance(examples, Dataset):
        return examples
    if isinstance(examples, tuple) and len(examples) == 2:
        return Dataset.from_numpy(*examples)
    raise TypeError(f"examples are a Dataset or (inputs, targets), not {type(examples).__name__}")
