// Which ops of a model a delegate computes. Pure.
//
// A part is a set of ops that the delegate takes, as large as its neighbours allow, and convex: no path leaves it and
// comes back, so that one step can compute it. A part whose gain is below what its border costs stays with our kernels:
// half a graph that is copied to and fro is slower than none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/delegate/delegate.h"
#include "device_sdk/runtime/model.h"

namespace coterie {

struct PartitionSettings {
  uint32_t batch_size = 1;
  bool trains = false;               // parts need a delegate that computes backward, too
  bool takes_whatever_cost = false;  // also parts that do not pay
  // For a training.
  std::vector<bool> is_trained = {};  // per tensor; empty: every parameter that is not frozen
  bool freezes_statistics = false;    // TrainOptions
  std::string own_reason = {};        // why our kernels compute all of it; empty: they need not
};

struct PlannedPart {
  std::vector<uint32_t> ops;      // ascending
  std::vector<uint32_t> inputs;   // ascending
  std::vector<uint32_t> outputs;  // ascending
  // In a training, as DelegatePart has them.
  std::vector<uint32_t> parameters = {}, output_gradients = {}, gradients = {};
  double flops = 0;                            // of one forward
  uint64_t input_bytes = 0, output_bytes = 0;  // of one run; in a training of forward and backward together
  double saved_nanoseconds = 0;                // by the delegate's own figures
  double border_nanoseconds = 0;               // launch and bytes, likewise
};

// An op that our kernels compute, and why: "op NAME: " and this.
struct OwnOp {
  uint32_t op = 0;
  std::string reason;
};

struct Partition {
  std::vector<PlannedPart> parts;  // by their first ops
  std::vector<OwnOp> own;          // ascending; ops that the output does not need are in neither
  double flops = 0;                // of all needed ops
};

// Which tensors are parameters that a training changes, where nobody says otherwise.
std::vector<bool> trained_by_default(const ModelGraph& graph);

// Errors: those of infer_types; internal (the delegate throws instead of saying its traits).
Result<Partition> partition(const Model& model, const Delegate& delegate, const PartitionSettings& settings);

// The order of ExternalParts (external_part.h) around these parts, which may be some of a partition.
std::vector<uint32_t> order_around(const ModelGraph& graph, const std::vector<const PlannedPart*>& parts);

}  // namespace coterie
