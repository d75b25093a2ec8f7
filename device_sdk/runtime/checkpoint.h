// The training checkpoint file.
//
//   a frame of kind checkpoint (proto/codec): CheckpointHeader, then parameters, optimizer slots and factors, order of
//   the examples, best parameters on held-out examples, ranges of activations;
//     with a cipher, that frame as a sealed text (sealed_text.h) of the model's digest
//   32 bytes: content_digest of what is before them
//
// The digest tells damage from a wrong key: what passes it and cannot be opened was written with another key, or
// forged. Private to the trainer; its public face is Trainer::save_checkpoint and restore_checkpoint.
#pragma once

#include <string>

#include "device_sdk/runtime/trainer_state.h"

namespace coterie {

Status write_checkpoint(const TrainerState& state, const std::string& path);

// Changes `state` only if everything in the file is sound and belongs to it. Unfinished files that a killed process
// left beside `path` are removed.
Status read_checkpoint(const std::string& path, TrainerState& state);

}  // namespace coterie
