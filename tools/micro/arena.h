// Where in the one static arena of a generated program each buffer lies, in units of float32.
//
// A program that predicts has the values between its layers there; input and output are the caller's. One that trains
// has, in this order, the parameters that are trained, their gradients, the values and the gradients of values overlaid
// by their lifetimes, and one number (how many examples the gradients are of).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/memory_plan.h"
#include "proto/messages/model.h"
#include "tools/micro/layers.h"

namespace coterie {

inline constexpr uint64_t kMicroArenaBytesMax = 1ull << 30;  // unless the caller asks for less

struct MicroParameter {
  uint32_t tensor = 0;
  uint64_t elements = 0;
  // Where it and its gradient lie, if it is trained. Otherwise it is read where it is stored.
  std::optional<uint64_t> value = {}, gradient = {};
};

struct MicroArena {
  std::vector<MicroParameter> parameters;  // of the layers, in the order of the graph's tensors
  // A layer's output, and the gradient by it. Several layers share one where they compute in place. Nothing: the last
  // layer's output in a program that predicts, which is the caller's; gradients that nobody needs.
  std::vector<std::optional<uint64_t>> values, gradients;
  size_t first_trained = 0;               // the first layer that has a parameter to train: backward ends there
  uint64_t trained = 0;                   // elements of all parameters that are trained
  std::optional<uint64_t> examples = {};  // where the number of examples lies; a program that trains
  uint64_t elements = 0;                  // of the arena
  std::vector<Lifetime> lifetimes = {};   // for tests: what was overlaid; Lifetime::bytes is elements here
  std::vector<uint64_t> offsets = {};     // of them
  uint64_t lower_bound = 0;               // elements: no plan of these buffers is smaller

  uint64_t bytes() const { return elements * kElementBytes; }
};

// Errors: too_large, with both figures, where it is above `bytes_max`.
Result<MicroArena> plan_micro_arena(const ModelGraph& graph, std::span<const MicroLayer> layers, bool trains,
                                    uint64_t bytes_max);

}  // namespace coterie
