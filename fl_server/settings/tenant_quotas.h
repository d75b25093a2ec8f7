// How much one tenant may have, so that none takes what is everybody's (docs/operating/access.md). What belongs to all
// tenants counts for none.
#pragma once

#include <cstdint>

namespace coterie {

struct TenantQuotas {
  uint64_t blob_bytes_max = 256ull << 30;   // uploads, and the files of its jobs' versions; each file once
  uint64_t uploads_max = 10'000;            // models and data sets that are kept
  uint64_t jobs_max = 10'000;               // also those that have ended, until they are deleted
  uint64_t admin_tokens_max = 200;          // also expired ones, until they are removed
  uint64_t enrollment_tokens_max = 10'000;  // likewise
  uint64_t idempotency_keys_max = 5'000;    // of the last day
  uint64_t event_streams_max = 256;         // at a time, on each server
};

// Streams of events at a time on a server, of all tenants: an open page of the console has at most one.
inline constexpr uint32_t kEventStreamsMax = 512;

}  // namespace coterie
