// StateFiles: the vectors that a device keeps from round to round (participant_state.h, StateSlot), each in a file of
// its own, sealed under a key of its own:
//
//   state-<content>.cotf   the vector: float32, little-endian, as many as the model has values; sealed (round_vault.h)
//   state-<content>.key    32 bytes
//
// A file is written before anybody names it, and removed when nobody does any more: so a device that is killed in
// between leaves litter, never a name without its file. Removing one overwrites its key first. Not thread-safe; the
// caller holds the directory's lock.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "proto/messages/participant_state.h"

namespace coterie {

class StateFiles {
 public:
  explicit StateFiles(std::string directory) : directory_(std::move(directory)) {}

  // Stores the vector of `slot`, whose content is not looked at, and gives it: a digest over the values, the job and
  // what the slot says of where they come from.
  Result<Digest> write(const JobId& job, const StateSlot& slot, std::span<const float> values) const;
  // data_loss if the file is gone, its key is, or it is not what this job and slot name, with so many finite values.
  Result<std::vector<float>> read(const JobId& job, const StateSlot& slot, uint64_t value_count) const;
  // Removes all that `state` does not name. What cannot be removed stays until the next time.
  void keep_only(const ParticipantState& state) const;

 private:
  std::string directory_;
};

}  // namespace coterie
