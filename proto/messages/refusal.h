// Refusal: what a device tells its server about a plan that it did not take part in, and the names of its
// reasons.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/ids.h"

namespace coterie {

// Stable: in messages, in the C interface, as labels of metrics. What each means:
// device_sdk/client/privacy_policy.h.
namespace refusal_reason {
inline constexpr std::string_view kSecurityLevel = "security_level";
inline constexpr std::string_view kCohortMin = "cohort_min";
inline constexpr std::string_view kEpsilonRound = "epsilon_round";
inline constexpr std::string_view kEpsilonTotal = "epsilon_total";
inline constexpr std::string_view kDelta = "delta";
inline constexpr std::string_view kSeparation = "separation";
inline constexpr std::string_view kCorruptShare = "corrupt_share";
inline constexpr std::string_view kAttempts = "attempts";
inline constexpr std::string_view kOpenings = "openings";  // device_sdk/client/openings.h
inline constexpr std::string_view kCertificate = "certificate";
inline constexpr std::string_view kLedgerRollback = "ledger_rollback";  // device_sdk/client/ledger_memory.h
inline constexpr std::string_view kLedgerFork = "ledger_fork";
inline constexpr std::string_view kLedgerUnproven = "ledger_unproven";
inline constexpr std::array kAll = {kSecurityLevel,  kCohortMin,    kEpsilonRound,  kEpsilonTotal, kDelta,
                                    kSeparation,     kCorruptShare, kAttempts,      kOpenings,     kCertificate,
                                    kLedgerRollback, kLedgerFork,   kLedgerUnproven};
inline constexpr std::string_view kOther = "other";  // of a later version

// One of kAll, or kOther.
inline std::string_view known(std::string_view reason) {
  const auto found = std::find(kAll.begin(), kAll.end(), reason);
  return found == kAll.end() ? kOther : *found;
}
}  // namespace refusal_reason

struct Refusal {
  RoundKey round;      // the attempt that this device was assigned
  std::string reason;  // of refusal_reason, or of a later version
  friend bool operator==(const Refusal&, const Refusal&) = default;
};

}  // namespace coterie
