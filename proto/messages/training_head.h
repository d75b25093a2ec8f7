// A head of a training: an output of the model, what it is compared with its targets by, and how much that counts.
#pragma once

#include <cstdint>
#include <string>

namespace coterie {

enum class Loss : uint8_t;

// The loss that a training with heads lowers is the sum of weight times loss over them. The first is of the model's own
// output: what is said of a training as a whole (accuracy, measures) is of it.
struct TrainingHead {
  std::string output;  // the name of the tensor (model_outputs.h)
  Loss loss{};
  float weight = 1;
  friend bool operator==(const TrainingHead&, const TrainingHead&) = default;
};

inline constexpr size_t kHeadsMax = 16;
inline constexpr float kHeadWeightMax = 1e6f;  // of (0, kHeadWeightMax]

}  // namespace coterie
