// Quotas: what a tenant may have so much of and no more, their names, and the refusal of one thing too many. How much:
// fl_server/settings/tenant_quotas.h. What one has is counted by whoever stores it, in the transaction that adds one
// more and that locks the tenant first: of any number that ask at once no more are admitted than there is room for.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/error.h"

namespace coterie {

enum class Quota : uint8_t {
  blob_bytes,
  uploads,
  jobs,
  admin_tokens,
  enrollment_tokens,
  idempotency_keys,
  event_streams,
};
inline constexpr std::array kEveryQuota = {Quota::blob_bytes,   Quota::uploads,           Quota::jobs,
                                           Quota::admin_tokens, Quota::enrollment_tokens, Quota::idempotency_keys,
                                           Quota::event_streams};

std::string_view to_string(Quota quota);

// One thing more of `tenant`, which may have `most` of them.
struct QuotaClaim {
  std::string tenant;
  uint64_t most = UINT64_MAX;
};

// What a tenant has, by quota; what is left out is 0.
using TenantUse = std::map<Quota, uint64_t>;

// With it `tenant` would have `seen`. conflict, or rate_limited where room comes by itself; its reason is the quota's
// name with quota_ before it.
Error over_quota(Quota quota, std::string_view tenant, uint64_t most, uint64_t seen);

}  // namespace coterie
