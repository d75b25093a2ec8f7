// What a generated program has for device_sdk/tiny: where each parameter lies in a model's file, and the functions that
// train.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/micro/model_frame.h"

namespace coterie {

struct MicroSpan {
  uint64_t first = 0, count = 0;       // float32 of the payload
  std::optional<uint64_t> place = {};  // in the arena, if it is trained
  std::string constant = {};           // else where it is
};

struct MicroClient {
  std::string prefix;
  MicroModelFrame frame;
  std::vector<MicroSpan> spans;
  uint64_t trained = 0;
};

// `const coterie_tiny_model PREFIX_model`, and what it points to.
std::string client_text(MicroClient client);

namespace micro_text {

// Counts answers that are right while there is training.
extern const std::string_view kRightAnswers;

}  // namespace micro_text

}  // namespace coterie
