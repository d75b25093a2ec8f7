// CoordinatorLimits: what a coordinator gives at most to those who come, and for how long.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "base/time.h"

namespace coterie::vertical {

struct CoordinatorLimits {
  uint32_t asking_max = 64;                 // connections that have not asked yet; the oldest makes room for one more
  uint32_t waiting_max = 64;                // parties whose peer has not come yet
  uint32_t pairs_max = 16;                  // jobs that run
  uint32_t jobs_max = 1024;                 // that are kept; the oldest that is over makes room for a new one
  uint32_t party_jobs_max = 64;             // open jobs that a party submitted
  uint32_t buffer_bytes = 256 << 10;        // in flight, in each of a pair's two directions
  uint32_t matching_entries_max = 1 << 22;  // ids of a bucket, of all parties of a matching; some 24 bytes each
  Millis ask_time{10'000};                  // for the handshake and the request
  Millis wait_time{600'000};                // of a party for its peer
  Millis idle_time{600'000};                // in which a byte of a pair must move
  Millis report_time{30'000};               // after a run's end, for all parties to say how it ended
  Millis resume_time{86'400'000};           // of a job that lost a party, for all to come back

  friend bool operator==(const CoordinatorLimits&, const CoordinatorLimits&) = default;
};

// invalid_argument, with the limit that is 0 or above what any machine has: counts 2^16, entries 2^28, a buffer 4 KiB
// to 64 MiB, times a week.
Status check_limits(const CoordinatorLimits& limits);

}  // namespace coterie::vertical
