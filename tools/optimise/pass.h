// A pass: one kind of rewriting, with the level from which on it is done.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "device_sdk/runtime/optimisation.h"
#include "tools/optimise/pass_graph.h"

namespace coterie {

inline constexpr Optimisation kNeverTrained = static_cast<Optimisation>(255);

// Pure: the same graph gives the same graph. At most one of `at` and `all` is there; without either it drops dead ops.
struct Pass {
  std::string_view name;  // "common-ops"
  Optimisation level;     // of a file for prediction
  Optimisation training;  // of one that is trained; kNeverTrained: such a file is left alone
  std::string_view what;  // one line, for tables
  // Rewrites at a needed op, or does nothing; whether it did. Ops may change, and no op moves.
  bool (*at)(PassGraph& graph, uint32_t op) = nullptr;
  // The same for a whole model, which is returned as it is (the same file) where there is nothing to do.
  Result<Model> (*all)(const Model& model) = nullptr;
};

// In the order in which they are tried.
std::span<const Pass> passes();

// The rows of each subject; `passes` has them all.
namespace passes_of {
extern const std::span<const Pass> neutral, shapes, arithmetic, shared, layers;
}  // namespace passes_of

}  // namespace coterie
