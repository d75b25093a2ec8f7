// Parts of a model's graph that something else computes (delegate/): the compiler puts one step in the place of a
// part's ops, and the steps of the others around it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace coterie {

// What computes a part. Called by the thread that runs the program.
class ExternalStep {
 public:
  virtual ~ExternalStep() = default;
  // `buffers`: the part's inputs, to be read alone, and then its outputs, all of them to be written; each has its
  // tensor's elements at the program's batch. null, or what is wrong, of static duration: the program's fault.
  virtual const char* run(float* const* buffers) = 0;
};

struct ExternalPart {
  std::vector<uint32_t> ops;      // ascending
  std::vector<uint32_t> inputs;   // float32 tensors that ops outside make, or the model's inputs
  std::vector<uint32_t> outputs;  // float32 tensors that ops outside read, or the model's output
  std::shared_ptr<ExternalStep> step;
};

struct ExternalParts {
  std::vector<ExternalPart> parts;
  // Every needed op that is in no part, by its index; every part, by the graph's ops and its index. What an entry reads
  // is made in front of it.
  std::vector<uint32_t> order;
};

}  // namespace coterie
