#include "secure/secagg/cohort_draw.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "secure/crypto/domain_fields.h"
#include "secure/crypto/sha256.h"

namespace coterie::secagg {

std::vector<std::vector<DeviceId>> drawn_cohorts(const CohortDraw& draw, const std::vector<DeviceId>& devices,
                                                 uint32_t cohorts_max, uint32_t size_min) {
  COT_ASSERT(cohorts_max >= 1);
  std::vector<std::pair<Digest, DeviceId>> order;
  for (const DeviceId& device : devices) {
    DomainFields fields("coterie/v1/cohort-draw");
    fields.add(draw.model.view()).add(uint64_t{draw.attempt.value()}).add(ByteView(device.bytes));
    order.emplace_back(sha256(fields.view()), device);
  }
  std::ranges::sort(order);
  const uint64_t cohorts = std::clamp<uint64_t>(order.size() / std::max(1u, size_min), 1, cohorts_max);
  std::vector<std::vector<DeviceId>> drawn(cohorts);
  for (uint64_t cohort = 0, next = 0; cohort < cohorts; ++cohort) {
    const uint64_t end = order.size() * (cohort + 1) / cohorts;
    for (; next < end; ++next) drawn[cohort].push_back(order[next].second);
  }
  return drawn;
}

}  // namespace coterie::secagg
