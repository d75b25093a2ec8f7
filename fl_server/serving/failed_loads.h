// FailedLoads: which versions could not be loaded, and when they are tried again. Pure.
//
// What is wrong with a file itself stays wrong (malformed, invalid_argument, unsupported_version): it is not tried
// again. Everything else may pass, a store that does not answer as well as a lack of room: it is tried again after
// kFirst, then after twice as long each time, at most kMost.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/time.h"
#include "fl_server/serving/serving_plan.h"

namespace coterie {

class FailedLoads {
 public:
  static constexpr Millis kFirst{5'000}, kMost{300'000};

  // In how long this version is tried again; none: never.
  std::optional<Millis> failed(const std::string& job, uint64_t version, ErrorCode code, Instant now);
  void loaded(const std::string& job, uint64_t version) { failures_.erase({job, version}); }
  // Others have gone. Where a promoted one has, what found no room is tried at once, as if for the first time; else it
  // is tried again in kFirst at the latest, and lacks room still: whoever sends others away for it has done so.
  void room_came(bool of_promoted, Instant now);
  // What the registry has no more is forgotten.
  void keep(std::span<const RegisteredModel> registered);
  RestingVersions resting(Instant now) const;
  // It found no room, and no promoted version has gone since.
  bool lacks_room(const std::string& job, uint64_t version) const;

 private:
  struct Failure {
    ErrorCode code;
    Millis patience;
    std::optional<Instant> again_at;
  };
  std::map<std::pair<std::string, uint64_t>, Failure> failures_;
};

}  // namespace coterie
