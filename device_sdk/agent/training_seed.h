// What a training's randomness comes from: the order of examples, and what dropout drops. It is drawn from the system
// for each training, so that a server cannot have one of them twice, and kept in a file as long as it lasts: a training
// that goes on after the app was killed comes to the same bits.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace coterie {

// The file's; a new one, which the file then has, where there is none or a damaged one.
Result<uint64_t> training_seed(const std::string& path);

}  // namespace coterie
