// RoundNoise: the noise of one attempt of a round, reserved in the ledger before it can be drawn.
#pragma once

#include <memory>
#include <mutex>
#include <span>

#include "fl_server/privacy/noise_seed.h"
#include "fl_server/store/ledger_store.h"
#include "scheduler/job/records.h"
#include "secure/dp/noise/wide_gaussian.h"

namespace coterie {

class RoundNoise {
 public:
  // Adds the noise of values first, first + 1, ... to the sum's lanes: always the same for this attempt, so each value
  // once.
  void add_to(uint64_t first, std::span<uint64_t> lanes) const { table_->add_to(inner_, outer_, first, lanes); }
  const Digest& commitment() const { return commitment_; }

 private:
  friend class RoundNoiseMaker;
  RoundNoise(std::shared_ptr<const WideGaussian> table, KeyStreamSource inner, KeyStreamSource outer,
             const Digest& commitment)
      : table_(std::move(table)), inner_(std::move(inner)), outer_(std::move(outer)), commitment_(commitment) {}

  std::shared_ptr<const WideGaussian> table_;
  KeyStreamSource inner_, outer_;
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
  Result<std::shared_ptr<const WideGaussian>> table_of(double sigma);

  const MacKey& noise_key_;
  std::mutex mutex_;
  std::shared_ptr<const WideGaussian> table_;
};

}  // namespace coterie
