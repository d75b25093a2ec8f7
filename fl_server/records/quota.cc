#include "fl_server/records/quota.h"

namespace coterie {
namespace {

struct QuotaTraits {
  std::string_view name;
  std::string_view reason;
  ErrorCode code;
  std::string_view what_to_do;
};

// By Quota.
constexpr std::array<QuotaTraits, kEveryQuota.size()> kTraits = {{
    {"blob_bytes", "quota_blob_bytes", ErrorCode::conflict,
     "delete uploads, versions or jobs that nobody needs: DELETE /admin/v1/models/{digest}, "
     "/admin/v1/datasets/{digest}, /admin/v1/jobs/{job}/models/{version}, /admin/v1/jobs/{job}"},
    {"uploads", "quota_uploads", ErrorCode::conflict,
     "delete some that no job needs: DELETE /admin/v1/models/{digest} or /admin/v1/datasets/{digest}"},
    {"jobs", "quota_jobs", ErrorCode::conflict, "delete some that have ended: DELETE /admin/v1/jobs/{job}"},
    {"admin_tokens", "quota_admin_tokens", ErrorCode::conflict,
     "remove some that are not used: DELETE /admin/v1/tokens/{token}"},
    {"enrollment_tokens", "quota_enrollment_tokens", ErrorCode::conflict,
     "remove some that are used up or expired: DELETE /admin/v1/enrollment-tokens/{token}"},
    {"idempotency_keys", "quota_idempotency_keys", ErrorCode::rate_limited,
     "ask without a key, or tomorrow: a key is kept for a day"},
    {"event_streams", "quota_event_streams", ErrorCode::rate_limited,
     "close one, or ask for the rounds now and then instead"},
}};

const QuotaTraits& traits_of(Quota quota) { return kTraits[static_cast<size_t>(quota)]; }

}  // namespace

std::string_view to_string(Quota quota) { return traits_of(quota).name; }

Error over_quota(Quota quota, std::string_view tenant, uint64_t most, uint64_t seen) {
  const QuotaTraits& of = traits_of(quota);
  return {of.code,
          "quota " + std::string(of.name) + " of tenant " + std::string(tenant) + ": it may have " +
              std::to_string(most) + ", and would have " + std::to_string(seen) + "; " + std::string(of.what_to_do),
          of.reason};
}

}  // namespace coterie
