#include "fl_server/finalize/round_noise.h"

#include "scheduler/job/central_noise.h"
#include "secure/crypto/random.h"

namespace coterie {

void RoundNoise::add_to(uint64_t first, std::span<uint64_t> lanes) const {
  table_->add_to(own_.inner, own_.outer, first, lanes);
  if (ended_.empty()) return;
  // sum - noise = -(-sum + noise), modulo 2^64.
  const auto negate = [&] {
    for (uint64_t& lane : lanes) lane = 0 - lane;
  };
  negate();
  for (const Streams& node : ended_) table_->add_to(node.inner, node.outer, first, lanes);
  negate();
}

Result<RoundNoise> RoundNoiseMaker::reserve(LedgerStore& ledger, const JobRecord& job, const RoundKey& key,
                                            WallTime now) {
  COT_ASSIGN(const CentralNoise noise, central_noise_of(job.spec.horizontal(), job.values().step_count()));
  // Before the ledger is asked: a release that is reserved is paid for, also if its noise could then not be drawn.
  COT_ASSIGN(std::shared_ptr<const WideGaussian> table, table_of(noise.sigma));
  // The ledger gives back the salt of an earlier try, if there was one. Fresh noise on the same sum would be a second
  // release: the mean of both has less noise than was accounted for (ADR 19).
  NoiseSalt fresh;
  fill_random(fresh.mutable_bytes());
  COT_ASSIGN(const NoiseSalt salt, ledger.reserve_release(key, fresh, now));
  const NoiseSeed seed(noise_key_, salt, job.id, key);
  COT_ASSIGN(RoundNoise::Streams own, streams_of(seed));
  RoundNoise round(std::move(table), std::move(own), seed.commitment());
  COT_ASSIGN(const std::vector<KeptNoise> ended, ledger.ended_noise(key));
  for (const KeptNoise& node : ended) {
    COT_ASSIGN(RoundNoise::Streams streams, streams_of(NoiseSeed(noise_key_, node.salt, job.id, node.round)));
    round.ended_.push_back(std::move(streams));
  }
  return round;
}

Result<RoundNoise::Streams> RoundNoiseMaker::streams_of(const NoiseSeed& seed) {
  COT_ASSIGN(KeyStreamSource inner, seed.stream("inner"));
  COT_ASSIGN(KeyStreamSource outer, seed.stream("outer"));
  return RoundNoise::Streams{std::move(inner), std::move(outer)};
}

Result<std::shared_ptr<const WideGaussian>> RoundNoiseMaker::table_of(double sigma) {
  const std::lock_guard lock(mutex_);
  if (!table_ || table_->sigma() != sigma) {
    COT_ASSIGN(WideGaussian table, WideGaussian::make(sigma));
    table_ = std::make_shared<const WideGaussian>(std::move(table));
  }
  return table_;
}

}  // namespace coterie
