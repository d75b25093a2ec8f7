#include "device_sdk/watch/watch_hits.h"

namespace coterie {
namespace {

constexpr size_t kLeftOut = ~size_t{0};

}  // namespace

WatchHit* WatchHits::add(size_t check, uint64_t where, uint64_t step, const Check& of, const Firing& firing) {
  const auto [entry, is_new] = index_.try_emplace({check, where}, kLeftOut);
  if (!is_new) {
    if (entry->second == kLeftOut) return nullptr;
    hits_[entry->second].last_step = step;
    hits_[entry->second].looks += 1;
    return nullptr;
  }
  if (hits_.size() >= hits_max_) {
    left_out_ += 1;
    return nullptr;
  }
  entry->second = hits_.size();
  return &hits_.emplace_back(
      WatchHit{of.name, firing.setting, firing.comparison, {}, {}, step, step, 1, firing.value, firing.threshold});
}

}  // namespace coterie
