// RoundNoise: the noise of one attempt of a round, reserved in the ledger before it can be drawn.
//
// Independent noise is the attempt's own. Noise of a tree is the attempt's own, of the node that its round makes, less
// that of the nodes that end with it (secure/dp/noise/noise_tree.h), each drawn again from the salt of its round, so
// that it is the same to the last bit and leaves the model whole. Why attempts that fail reveal nothing:
//
//   * An attempt's own noise has a salt of its own. Were it the same for the next attempt, and a failed one seen by
//     anybody, the difference of the two would be that of their sums, without noise.
//   * The nodes that are taken off are the same for both, as they are in the model of before; the difference of two
//     attempts has the noise of two fresh nodes, and no more is known of the nodes in the model than before.
//   * Nothing of a failed attempt is seen (ADR 19), so that each node is released once: what the ledger counts.
#pragma once

#include <cmath>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "fl_server/privacy/noise_seed.h"
#include "fl_server/store/ledger_store.h"
#include "scheduler/job/records.h"
#include "secure/dp/noise/wide_gaussian.h"

namespace coterie {

class RoundNoise {
 public:
  // Adds the noise of values first, first + 1, ... to the sum's lanes: always the same for this attempt, so each value
  // once.
  void add_to(uint64_t first, std::span<uint64_t> lanes) const;
  const Digest& commitment() const { return commitment_; }
  // Standard deviation of the noise in one value of this attempt's sum, in steps of the grid.
  double sigma() const { return table_->sigma() * std::sqrt(1 + static_cast<double>(ended_.size())); }

 private:
  friend class RoundNoiseMaker;
  struct Streams {
    KeyStreamSource inner, outer;
  };
  RoundNoise(std::shared_ptr<const WideGaussian> table, Streams own, const Digest& commitment)
      : table_(std::move(table)), own_(std::move(own)), commitment_(commitment) {}

  std::shared_ptr<const WideGaussian> table_;
  Streams own_;
  std::vector<Streams> ended_;
  Digest commitment_;
};

// Thread-safe. Keeps the newest table: all rounds of a job share it.
class RoundNoiseMaker {
 public:
  // `noise_key` is the server's, and outlives this.
  explicit RoundNoiseMaker(const MacKey& noise_key) : noise_key_(noise_key) {}

  // The reserve is durable when this returns. Asking again gives the same noise. permission_denied if the release would
  // pass the job's budget; what LedgerStore::reserve_release says else.
  Result<RoundNoise> reserve(LedgerStore& ledger, const JobRecord& job, const RoundKey& key, WallTime now);

 private:
  static Result<RoundNoise::Streams> streams_of(const NoiseSeed& seed);
  Result<std::shared_ptr<const WideGaussian>> table_of(double sigma);

  const MacKey& noise_key_;
  std::mutex mutex_;
  std::shared_ptr<const WideGaussian> table_;
};

}  // namespace coterie
