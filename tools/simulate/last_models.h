// The mean of the models of the last rounds: what a simulation with --mean-of-last judges in the place of the newest.
// FedExP is judged so by its source (Jhunjhunwala et al. 2023, section 4: the mean of the last two iterates), as its
// steps swing about the optimum. Devices train from the newest model as ever, so that no bit of a round changes.
#pragma once

#include <cstdint>
#include <deque>

#include "base/bytes.h"
#include "base/result.h"

namespace coterie {

class LastModels {
 public:
  // Holds `count` >= 1 models, each with all of its bytes in memory.
  explicit LastModels(uint32_t count) : count_(count) {}

  // A round's model file. All are of one graph.
  void add(Bytes model);
  // A model file: each value is the mean of those that the models have there, of as many as were added if these are
  // fewer. Running statistics are averaged likewise, so that no variance falls below 0. One model comes back with its
  // own bytes. Precondition: there is one. Errors: malformed (a file that is no model; models of other sizes).
  Result<Bytes> mean() const;

 private:
  uint32_t count_;
  std::deque<Bytes> models_;
};

}  // namespace coterie
