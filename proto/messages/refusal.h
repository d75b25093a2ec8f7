// Refusal: what a device tells its server about a plan that it did not take part in, or about what held it back from
// work before it was assigned any, and the names of its reasons.
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
inline constexpr std::string_view kAnalytics = "analytics";
// What a device lacks of what its app or the plan asks for: device_sdk/client/condition_gate.h.
inline constexpr std::string_view kIdle = "idle";
inline constexpr std::string_view kCharging = "charging";
inline constexpr std::string_view kUnmetered = "unmetered";
inline constexpr std::string_view kForeground = "foreground";
inline constexpr std::string_view kBackground = "background";
inline constexpr std::string_view kBattery = "battery";
inline constexpr std::string_view kThermal = "thermal";
inline constexpr std::string_view kFreeMemory = "free_memory";
// What is left of a day's budget does not do: device_sdk/client/daily_budget.h.
inline constexpr std::string_view kCpuBudget = "cpu_budget";
inline constexpr std::string_view kUploadBudget = "upload_budget";
inline constexpr std::string_view kDownloadBudget = "download_budget";
inline constexpr std::string_view kEnergyBudget = "energy_budget";
// Those that hold a device back, in the order of the C interface's coterie_hold, which counts them from 1.
inline constexpr std::array kHolds = {kIdle,    kCharging,   kUnmetered, kForeground,   kBackground,     kBattery,
                                      kThermal, kFreeMemory, kCpuBudget, kUploadBudget, kDownloadBudget, kEnergyBudget};
inline constexpr std::array kAll = {
    kSecurityLevel, kCohortMin,    kEpsilonRound,   kEpsilonTotal,   kDelta,      kSeparation,     kCorruptShare,
    kAttempts,      kOpenings,     kCertificate,    kLedgerRollback, kLedgerFork, kLedgerUnproven, kIdle,
    kCharging,      kUnmetered,    kForeground,     kBackground,     kBattery,    kThermal,        kFreeMemory,
    kCpuBudget,     kUploadBudget, kDownloadBudget, kEnergyBudget,   kAnalytics};
inline constexpr std::string_view kOther = "other";  // of a later version

// One of kAll, or kOther.
inline std::string_view known(std::string_view reason) {
  const auto found = std::find(kAll.begin(), kAll.end(), reason);
  return found == kAll.end() ? kOther : *found;
}
}  // namespace refusal_reason

struct Refusal {
  RoundKey round;      // the attempt that this device was assigned; zeros: it was held back before there was one
  std::string reason;  // of refusal_reason, or of a later version
  friend bool operator==(const Refusal&, const Refusal&) = default;
};

}  // namespace coterie
