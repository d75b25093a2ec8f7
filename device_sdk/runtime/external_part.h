// Parts of a model's graph that something else computes (delegate/): the compiler puts one step in the place of a
// part's ops, and the steps of the others around it. In a training a part has two: its forward
// and its backward.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"

namespace coterie {

// What computes a part. Called by the thread that runs the program.
class ExternalStep {
 public:
  virtual ~ExternalStep() = default;
  // `buffers`, each with its tensor's elements at the program's batch. Forward: the part's inputs and parameters, to be
  // read alone, and then its outputs, all of them to be written. Backward: inputs, parameters and outputs, with the
  // values that forward had, and the gradients of outputs, to be read alone; and then the gradients that it gives, to
  // be written. null, or what is wrong, of static duration: the program's fault.
  virtual const char* run(float* const* buffers) = 0;
};

struct ExternalPart {
  std::vector<uint32_t> ops;      // ascending
  std::vector<uint32_t> inputs;   // float32 tensors that ops outside make, or the model's inputs
  std::vector<uint32_t> outputs;  // float32 tensors that ops outside read, or the model's output
  std::shared_ptr<ExternalStep> step;
  // A training alone has these, by needed_gradients.h.
  std::vector<uint32_t> parameters = {};        // that are trained, and that some op of the part reads
  std::vector<uint32_t> output_gradients = {};  // of the outputs, those whose gradients backward is given
  std::vector<uint32_t> gradients = {};         // of inputs and parameters, those whose gradients it gives
  std::shared_ptr<ExternalStep> backward = {};  // null: it gives none
};

struct ExternalParts {
  std::vector<ExternalPart> parts;
  // Every needed op that is in no part, by its index; every part, by the graph's ops and its index. What an entry reads
  // is made in front of it.
  std::vector<uint32_t> order;
};

// Whether this build can have parts at all. invalid_argument, of one that was made from a list with -delegates: all of
// a program is then computed by our kernels, so who takes parts asks first.
Status check_has_delegates();

}  // namespace coterie
