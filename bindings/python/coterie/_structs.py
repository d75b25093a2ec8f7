"""The structs and callbacks of coterie.h and coterie_train.h, member by member. tests/python holds them against the
headers."""
from __future__ import annotations

import ctypes
from ctypes import (CFUNCTYPE, POINTER, c_char_p, c_double, c_float, c_int, c_int32, c_int64, c_size_t, c_uint8, c_uint32,
                    c_uint64, c_void_p)


class Sized(ctypes.Structure):
    """A struct that begins with its size: members that the library does not know are then not its to touch."""

    def __init__(self, **members: object):
        super().__init__(struct_size=ctypes.sizeof(type(self)), **members)


class Place(ctypes.Structure):
    _fields_ = [("floats", c_void_p), ("ints", c_void_p), ("count", c_size_t)]  # addresses, to be copied to


class Example(Sized):
    _fields_ = [("struct_size", c_size_t), ("inputs", POINTER(Place)), ("input_count", c_size_t), ("target", Place)]


SIZE = CFUNCTYPE(c_uint64, c_void_p)
READ = CFUNCTYPE(c_int, c_void_p, c_uint64, c_void_p, c_size_t, c_void_p)
READ_EXAMPLE = CFUNCTYPE(c_int, c_void_p, c_uint64, POINTER(Example))


class Dataset(Sized):
    _fields_ = [("struct_size", c_size_t), ("context", c_void_p), ("size", SIZE), ("read", READ),
                ("read_example", READ_EXAMPLE)]


class Policy(Sized):
    _fields_ = [("struct_size", c_size_t), ("security_level_min", c_uint32), ("cohort_min", c_uint32),
                ("epsilon_round_max", c_double), ("epsilon_total_max", c_double), ("delta_max", c_double),
                ("separation_min", c_uint64), ("corrupt_share_min", c_double), ("attempts_max", c_uint32),
                ("accepts_none", c_uint32), ("openings_max", c_uint32), ("accepts_analytics", c_uint64)]


class Conditions(Sized):
    _fields_ = [("struct_size", c_size_t), ("idle", c_uint32), ("charging", c_uint32), ("unmetered", c_uint32),
                ("foreground", c_uint32), ("battery_percent", c_uint32), ("thermal", c_uint32),
                ("free_memory_bytes", c_uint64)]


class Requirements(Sized):
    _fields_ = [("struct_size", c_size_t), ("idle", c_uint32), ("charging", c_uint32), ("unmetered", c_uint32),
                ("foreground", c_uint32), ("background", c_uint32), ("battery_percent_min", c_uint32),
                ("thermal_max", c_uint32), ("free_memory_bytes_min", c_uint64), ("cpu_seconds_per_day", c_double),
                ("upload_bytes_per_day", c_uint64), ("download_bytes_per_day", c_uint64), ("joules_per_day", c_double),
                ("watts", c_double), ("training_bytes_max", c_uint64), ("width_max", c_double)]


class Refusal(Sized):
    _fields_ = [("struct_size", c_size_t), ("reason", c_char_p), ("text", c_char_p), ("job", c_char_p),
                ("round", c_uint64), ("attempt", c_uint32), ("cohort_min", c_uint32), ("security_level", c_int),
                ("epsilon_round", c_double), ("delta", c_double), ("epsilon_spent", c_double),
                ("delta_spent", c_double)]


ON_REFUSED = CFUNCTYPE(None, c_void_p, POINTER(Refusal))


class Options(Sized):
    _fields_ = [("struct_size", c_size_t), ("server_url", c_char_p), ("ca_file", c_char_p), ("state_dir", c_char_p),
                ("enrollment_token", c_char_p), ("use_p256", c_int), ("seed", c_uint64), ("train_ms_max", c_uint32),
                ("checkin_ms_max", c_uint32), ("checkpoint_steps", c_uint32), ("transport", c_void_p),
                ("policy", POINTER(Policy)), ("on_refused", ON_REFUSED), ("refused_context", c_void_p),
                ("authority_key", c_char_p), ("certificate", c_char_p), ("certificate_size", c_size_t),
                ("signer", c_void_p), ("requirements", POINTER(Requirements)), ("group", c_uint64)]


class Identity(Sized):
    _fields_ = [("struct_size", c_size_t), ("key_algorithm", c_uint32), ("public_key_size", c_uint32),
                ("public_key", c_uint8 * 65)]


class Progress(Sized):
    _fields_ = [("struct_size", c_size_t), ("activity", c_int), ("step_status", c_int), ("wait_ms", c_uint32),
                ("rounds_done", c_uint64), ("training_steps", c_uint64), ("training_examples", c_uint64),
                ("training_loss", c_double), ("hold", c_int), ("validation_examples", c_uint64),
                ("validation_loss", c_double), ("stopped_early", c_int)]


ON_PROGRESS = CFUNCTYPE(c_int, c_void_p, POINTER(Progress))


class Tensor(Sized):
    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("type", c_int), ("rank", c_size_t),
                ("shape", POINTER(c_int64)), ("elements", c_uint64)]


class ModelInfo(Sized):
    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("input_count", c_size_t),
                ("parameter_count", c_size_t), ("parameters", c_uint64), ("flat_count", c_uint64),
                ("file_bytes", c_uint64), ("flops", c_double), ("output_count", c_size_t),
                ("computes_in_int8", c_int)]


class Values(ctypes.Structure):
    _fields_ = [("floats", POINTER(c_float)), ("ints", POINTER(c_int32)), ("count", c_size_t)]


class Head(Sized):
    _fields_ = [("struct_size", c_size_t), ("output", c_char_p), ("loss", c_char_p), ("weight", c_double),
                ("rows", c_uint64), ("loss_mean", c_double), ("measure", c_char_p), ("value", c_double)]


class Evaluation(Sized):
    _fields_ = [("struct_size", c_size_t), ("examples", c_uint64), ("loss_mean", c_double), ("accuracy", c_double)]


ON_STEP = CFUNCTYPE(c_int, c_void_p)


class FineTuning(Sized):
    _fields_ = [("struct_size", c_size_t), ("is_better", c_int), ("held_out", c_uint64), ("accuracy_before", c_double),
                ("accuracy_after", c_double), ("loss_before", c_double), ("loss_after", c_double)]


class TrainOptions(Sized):
    _fields_ = [("struct_size", c_size_t), ("loss", c_char_p), ("targets_are_values", c_int),
                ("label_smoothing", c_float), ("loss_threshold", c_float), ("class_weights", POINTER(c_float)),
                ("class_weight_count", c_size_t), ("optimizer", c_char_p), ("learning_rate", c_float),
                ("momentum", c_float), ("nesterov", c_int), ("weight_decay", c_float), ("beta1", c_float),
                ("beta2", c_float), ("epsilon", c_float), ("smoothing", c_float), ("schedule", c_char_p),
                ("batch_size", c_uint32), ("micro_batch_size", c_uint32), ("epochs", c_uint32), ("steps_max", c_uint32),
                ("clip_norm", c_float), ("clip_value", c_float), ("freeze", POINTER(c_char_p)),
                ("freeze_count", c_size_t), ("train_only", POINTER(c_char_p)), ("train_only_count", c_size_t),
                ("freeze_statistics", c_int), ("seed", c_uint64), ("memory_bytes_max", c_uint64),
                ("train_last", c_uint32), ("threads", c_uint32), ("channels", POINTER(c_char_p)),
                ("channel_count", c_size_t), ("groups", POINTER(c_char_p)), ("group_count", c_size_t),
                ("lora", c_char_p), ("checkpoint_key", c_char_p), ("checkpoint_key_size", c_size_t),
                ("storage", c_char_p), ("loss_scale", c_char_p), ("memory_budget_bytes", c_uint64),
                ("augment", c_char_p), ("ignore_label", c_char_p), ("qat", c_char_p),
                ("optimise", c_char_p), ("heads", POINTER(c_char_p)), ("head_count", c_size_t)]


class TrainProgress(Sized):
    _fields_ = [("struct_size", c_size_t), ("finished", c_int), ("steps", c_uint64), ("steps_in_all", c_uint64),
                ("examples", c_uint64), ("step_loss", c_double), ("loss_mean", c_double), ("accuracy", c_double),
                ("learning_rate", c_double)]


class WatchSummary(Sized):
    _fields_ = [("struct_size", c_size_t), ("looks", c_uint64), ("hit_count", c_size_t), ("left_out", c_uint64),
                ("bytes_max", c_uint64)]


class WatchHit(Sized):
    _fields_ = [("struct_size", c_size_t), ("check", c_char_p), ("layer", c_char_p), ("tensor", c_char_p),
                ("setting", c_char_p), ("comparison", c_char_p), ("first_step", c_uint64), ("last_step", c_uint64),
                ("looks", c_uint64), ("value", c_double), ("threshold", c_double)]


class TrainMemory(Sized):
    _fields_ = [("struct_size", c_size_t), ("arena_bytes", c_uint64), ("parameter_bytes", c_uint64),
                ("optimizer_bytes", c_uint64), ("gradient_bytes", c_uint64), ("planned_bytes", c_uint64),
                ("order_bytes", c_uint64), ("prepared_bytes", c_uint64), ("micro_batch_size", c_uint32),
                ("recomputed_steps", c_uint32), ("recomputed_share", c_double),
                ("narrowed_bytes_saved", c_uint64), ("narrowed_tensors", c_uint64)]
