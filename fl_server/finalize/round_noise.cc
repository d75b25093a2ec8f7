#include "fl_server/finalize/round_noise.h"

#include "scheduler/job/central_noise.h"
#include "secure/crypto/random.h"

namespace coterie {

Result<RoundNoise> RoundNoiseMaker::reserve(LedgerStore& ledger, const JobRecord& job, const RoundKey& key,
                                            WallTime now) {
  COT_ASSIGN(const CentralNoise noise, central_noise_of(job.spec.horizontal(), job.value_count));
  COT_ASSIGN(std::shared_ptr<const WideGaussian> table, table_of(noise.sigma));
  // The ledger gives back the salt of an earlier try, if there was one. Fresh noise on the same sum would be a second
  // release: the mean of both has less noise than was accounted for (ADR 19).
  NoiseSalt fresh;
  fill_random(fresh.mutable_bytes());
  COT_ASSIGN(const NoiseSalt salt, ledger.reserve_release(key, fresh, now));
  const NoiseSeed seed(noise_key_, salt, job.id, key);
  COT_ASSIGN(KeyStreamSource inner, seed.stream("inner"));
  COT_ASSIGN(KeyStreamSource outer, seed.stream("outer"));
  return RoundNoise(std::move(table), std::move(inner), std::move(outer), seed.commitment());
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
