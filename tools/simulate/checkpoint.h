// Checkpoint: a folder from which a simulation that was ended goes on, to the same bits.
//
//   checkpoint.json   where it is: rounds done, what they came to, and which files belong to it
//   state-<digest>    models, the strategy's state, what devices keep, and how often each was counted, each under the
//                     digest of its bytes
//
// checkpoint.json is written last, whole, and names all files: whatever is killed, the folder has the last checkpoint
// or the one before. Files state-<digest> that it does not name are removed behind it, and no others. Each rank writes
// what its own devices keep, and rank 0 the rest; ranks on several machines need a folder that all of them see. Another
// number of ranks may go on.
//
// With buffered rounds it has the older versions that devices train from, and nothing of who is at work: that follows
// (virtual_buffers.h).
//
// What is read is checked: every key is there and in its range, and a state is of a device of the fleet, has as many
// values as the job's updates say of the model, and is there once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "tools/admin/round_report.h"
#include "tools/simulate/counted_shares.h"
#include "tools/simulate/own_scores.h"
#include "tools/simulate/ranks.h"
#include "tools/simulate/virtual_buffers.h"

namespace coterie {

class CohortTrainer;
class Simulation;

// What a run has told of itself by then.
struct SimulationStory {
  std::vector<RoundReport> attempts;
  std::vector<uint32_t> rounds_trained;  // of each shard
  uint64_t drawn = 0, counted = 0, lost = 0, late = 0, surplus = 0;
  double virtual_seconds = 0, seconds = 0;
  CountedShares shares{0};
  std::optional<OwnScores> own = {};       // when it has ended
  std::optional<BufferedTotals> buffered;  // of such rounds, when they are over; no checkpoint has it, as it follows
};

class Checkpoint {
 public:
  // `identity`: of all that decides a bit of the simulation. `directory` is created.
  Checkpoint(std::string directory, Digest identity, Ranks& ranks)
      : directory_(std::move(directory)), identity_(identity), ranks_(&ranks) {}

  // Whether there is one. Errors: those of the directory.
  Result<bool> is_there() const;
  // All ranks call it behind the same round. Errors: those of writing; those of Ranks.
  Status write(const Simulation& simulation, const CohortTrainer& trainer, const SimulationStory& story);
  // Moves a simulation that has just begun, and its trainer's devices, to where the checkpoint was written. Errors:
  // not_found, malformed or data_loss (what is damaged or missing is named), conflict (of another simulation).
  Result<SimulationStory> go_on(Simulation& simulation, CohortTrainer& trainer) const;

 private:
  std::string path_of(const std::string& name) const { return directory_ + "/" + name; }
  std::string path_of(const Digest& digest) const;
  Result<Digest> put(ByteView bytes) const;
  Result<Bytes> get(const Digest& digest) const;
  Status remove_others(const std::vector<Digest>& named) const;

  std::string directory_;
  Digest identity_;
  Ranks* ranks_;
};

}  // namespace coterie
