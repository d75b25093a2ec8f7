"""The functions of the C interface that this package calls, with their types. Loaded once, when coterie is imported."""
from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_double, c_float, c_int, c_int32, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p
from typing import Any

from . import _find
from . import _structs as s

HANDLE = c_void_p
OUT = POINTER(c_void_p)  # where a handle is put
TEXT = (c_char_p, c_size_t)  # where a sentence is put

# name: (what it returns, what it takes). tests/python holds each against the headers.
FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "coterie_version": (c_char_p, ()),
    "coterie_status_name": (c_char_p, (c_int,)),
    "coterie_dataset_open": (c_int, (c_char_p, POINTER(s.Dataset), *TEXT)),
    "coterie_dataset_close": (None, (POINTER(s.Dataset),)),
    "coterie_client_open": (c_int, (POINTER(s.Options), POINTER(s.Dataset), OUT, *TEXT)),
    "coterie_client_identity": (c_int, (HANDLE, POINTER(s.Identity))),
    "coterie_client_personal_model": (c_int, (HANDLE, c_char_p, HANDLE, OUT)),
    "coterie_client_close": (None, (OUT,)),
    "coterie_client_run": (c_int, (HANDLE, c_uint64, s.ON_PROGRESS, c_void_p)),
    "coterie_client_cancel": (None, (HANDLE,)),
    "coterie_client_set_conditions": (c_int, (HANDLE, POINTER(s.Conditions))),
    "coterie_client_last_error": (c_char_p, (HANDLE,)),
    "coterie_model_open": (c_int, (c_char_p, OUT, *TEXT)),
    "coterie_model_open_bytes": (c_int, (c_char_p, c_size_t, OUT, *TEXT)),
    "coterie_model_close": (None, (OUT,)),
    "coterie_model_last_error": (c_char_p, (HANDLE,)),
    "coterie_model_describe": (c_int, (HANDLE, POINTER(s.ModelInfo))),
    "coterie_model_input": (c_int, (HANDLE, c_size_t, POINTER(s.Tensor))),
    "coterie_model_output": (c_int, (HANDLE, POINTER(s.Tensor))),
    "coterie_model_parameter": (c_int, (HANDLE, c_size_t, POINTER(s.Tensor))),
    "coterie_model_get_parameter": (c_int, (HANDLE, c_char_p, POINTER(c_float), c_size_t)),
    "coterie_model_set_parameter": (c_int, (HANDLE, c_char_p, POINTER(c_float), c_size_t)),
    "coterie_model_replace_head": (c_int, (HANDLE, c_char_p, c_uint32, c_uint64)),
    "coterie_model_predict": (c_int, (HANDLE, POINTER(s.Values), c_size_t, c_size_t, POINTER(c_float), c_size_t)),
    "coterie_model_evaluate": (c_int, (HANDLE, POINTER(s.Dataset), POINTER(s.TrainOptions), POINTER(s.Evaluation))),
    "coterie_model_measure": (c_int, (HANDLE, POINTER(s.Dataset), POINTER(s.TrainOptions), POINTER(c_char_p), c_size_t,
                                      POINTER(c_double), POINTER(s.Evaluation))),
    "coterie_model_output_at": (c_int, (HANDLE, c_size_t, POINTER(s.Tensor))),
    "coterie_model_predict_all": (c_int, (HANDLE, POINTER(s.Values), c_size_t, c_size_t, POINTER(POINTER(c_float)),
                                          POINTER(c_size_t), c_size_t)),
    "coterie_model_evaluate_heads": (c_int, (HANDLE, POINTER(s.Dataset), POINTER(s.TrainOptions), POINTER(s.Head),
                                             c_size_t, POINTER(s.Evaluation))),
    "coterie_model_fine_tune": (c_int, (HANDLE, POINTER(s.TrainOptions), POINTER(s.Dataset), c_float, s.ON_STEP, c_void_p,
                                        POINTER(s.FineTuning), OUT)),
    "coterie_model_save": (c_int, (HANDLE, c_char_p)),
    "coterie_model_bytes": (c_int, (HANDLE, POINTER(POINTER(c_uint8)), POINTER(c_size_t))),
    "coterie_model_plan_training": (c_int, (HANDLE, POINTER(s.TrainOptions), c_uint64, POINTER(s.TrainMemory))),
    "coterie_trainer_open": (c_int, (HANDLE, POINTER(s.TrainOptions), POINTER(s.Dataset), OUT, *TEXT)),
    "coterie_trainer_close": (None, (OUT,)),
    "coterie_trainer_last_error": (c_char_p, (HANDLE,)),
    "coterie_trainer_step": (c_int, (HANDLE, POINTER(s.TrainProgress))),
    "coterie_trainer_progress": (c_int, (HANDLE, POINTER(s.TrainProgress))),
    "coterie_trainer_head": (c_int, (HANDLE, c_size_t, POINTER(s.Head))),
    "coterie_trainer_memory": (c_int, (HANDLE, POINTER(s.TrainMemory))),
    "coterie_trainer_save_checkpoint": (c_int, (HANDLE, c_char_p)),
    "coterie_trainer_restore_checkpoint": (c_int, (HANDLE, c_char_p)),
    "coterie_trainer_model": (c_int, (HANDLE, OUT)),
    "coterie_trainer_get_parameter": (c_int, (HANDLE, c_char_p, POINTER(c_float), c_size_t)),
    "coterie_trainer_delta": (c_int, (HANDLE, POINTER(c_float), c_size_t)),
    "coterie_trainer_watch": (c_int, (HANDLE, c_char_p)),
    "coterie_trainer_watch_summary": (c_int, (HANDLE, POINTER(s.WatchSummary))),
    "coterie_trainer_watch_hit": (c_int, (HANDLE, c_size_t, POINTER(s.WatchHit))),
}


def bind(library: ctypes.CDLL) -> ctypes.CDLL:
    """Gives the functions their types. ImportError: one is missing, or the library is of another version."""
    for name, (result, arguments) in FUNCTIONS.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise ImportError(f"{library._name} has no {name}: it is no libcoterie, or one of another version") from None
        function.restype, function.argtypes = result, arguments
    _find.check_version(library.coterie_version().decode())
    return library


lib = bind(_find.load())
