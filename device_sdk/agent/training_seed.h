// What a training's randomness comes from: the order of examples, and what dropout drops. It is drawn from the system
// for each training, so that a server cannot have one of them twice, and kept in a file as long as it lasts: a training
// that goes on after the app was killed comes to the same bits.
#pragma once

#include <cstdint>
#include <string>

#include "base/ids.h"
#include "base/result.h"

namespace coterie {

// The file's; a new one, which the file then has, where there is none or a damaged one.
Result<uint64_t> training_seed(const std::string& path);

// That of a device which is to train the same each time (AgentSettings::seed), from this version of the model.
uint64_t repeated_seed(uint64_t device_seed, ModelVersion version);

}  // namespace coterie
