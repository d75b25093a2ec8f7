// OverloadSettings: from when on requests of devices are refused.
#pragma once

#include "fl_server/core/queue_delay.h"
#include "fl_server/core/token_buckets.h"

namespace coterie {

struct OverloadSettings {
  QueueDelaySettings queue;
  TokenBucketSettings device{.per_second = 20, .burst = 200, .callers_max = 100'000};  // requests of a device
  TokenBucketSettings stranger{
      .per_second = 10, .burst = 200, .callers_max = 100'000};  // failures to sign, of an address
};

}  // namespace coterie
