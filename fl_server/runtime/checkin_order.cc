#include "fl_server/runtime/checkin_order.h"

#include <algorithm>

#include "base/os/clock.h"

namespace coterie {

void CheckinOrder::take(const CheckinClaim& claim, Answer answer) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.emplace_back(claim, std::move(answer));
    if (waiting_.size() > 1) return;  // whoever was first has posted
  }
  if (loop_.post([this] { ask_store(); })) return;
  std::vector<std::pair<CheckinClaim, Answer>> late;
  {
    const std::lock_guard lock(mutex_);
    late.swap(waiting_);
  }
  for (const auto& [_, tell] : late) tell(Error(ErrorCode::unavailable, "this server is about to stop"));
}

void CheckinOrder::ask_store() {
  std::vector<std::pair<CheckinClaim, Answer>> all;
  {
    const std::lock_guard lock(mutex_);
    all.swap(waiting_);
  }
  for (size_t begin = 0; begin < all.size(); begin += kClaimsMax) {
    const size_t end = std::min(all.size(), begin + kClaimsMax);
    std::vector<CheckinClaim> claims;
    for (size_t i = begin; i < end; ++i) claims.push_back(all[i].first);
    const Result<std::vector<bool>> taken = store_.take_checkins(claims, os::wall_now() + 2 * skew_max_);
    for (size_t i = begin; i < end; ++i) {
      if (taken) {
        all[i].second((*taken)[i - begin]);
      } else {
        all[i].second(taken.error());
      }
    }
  }
}

}  // namespace coterie
