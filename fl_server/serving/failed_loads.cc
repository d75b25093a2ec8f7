#include "fl_server/serving/failed_loads.h"

#include <algorithm>

namespace coterie {
namespace {

bool is_for_ever(ErrorCode code) {
  return code == ErrorCode::malformed || code == ErrorCode::invalid_argument || code == ErrorCode::unsupported_version;
}

}  // namespace

std::optional<Millis> FailedLoads::failed(const std::string& job, uint64_t version, ErrorCode code, Instant now) {
  const auto [place, is_first] = failures_.try_emplace({job, version}, Failure{code, kFirst, {}});
  Failure& failure = place->second;
  failure.code = code;
  if (!is_first) failure.patience = std::min(2 * failure.patience, kMost);
  failure.again_at.reset();
  if (is_for_ever(code)) return std::nullopt;
  failure.again_at = now + failure.patience;
  return failure.patience;
}

void FailedLoads::room_came(bool of_promoted, Instant now) {
  const auto lacked_it = [](const auto& failure) { return failure.second.code == ErrorCode::too_large; };
  if (of_promoted) {
    std::erase_if(failures_, lacked_it);
    return;
  }
  for (auto& failure : failures_) {
    if (lacked_it(failure)) failure.second.again_at = std::min(*failure.second.again_at, now + kFirst);
  }
}

void FailedLoads::keep(std::span<const RegisteredModel> registered) {
  std::erase_if(failures_, [&](const auto& failure) {
    const auto model = std::ranges::find(registered, failure.first.first, &RegisteredModel::job);
    return model == registered.end() || !std::ranges::binary_search(model->versions, failure.first.second);
  });
}

RestingVersions FailedLoads::resting(Instant now) const {
  RestingVersions resting;
  for (const auto& [version, failure] : failures_) {
    if (!failure.again_at || now < *failure.again_at) resting.insert(version);
  }
  return resting;
}

bool FailedLoads::lacks_room(const std::string& job, uint64_t version) const {
  const auto found = failures_.find({job, version});
  return found != failures_.end() && found->second.code == ErrorCode::too_large;
}

}  // namespace coterie
