// Refusals: what was refused since the process began, read from its metrics.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace coterie {

class CollectedMetrics;

// How often, by reason: plans that devices refused, and what held them back before they asked; requests that were
// turned away before anything was done; check-ins that ended without a ticket; uploads, by the error's code.
struct Refusals {
  std::map<std::string, uint64_t> plans, held, requests, checkins, updates;
};
Refusals refusals_of(const CollectedMetrics& metrics);

}  // namespace coterie
