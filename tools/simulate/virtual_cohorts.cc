#include "tools/simulate/virtual_cohorts.h"

#include <string>

#include "base/assert.h"
#include "proto/ring/ring_vector.h"
#include "scheduler/job/horizontal_settings.h"
#include "secure/crypto/digest.h"
#include "secure/crypto/domain_fields.h"
#include "secure/crypto/sha256.h"
#include "secure/crypto/signature.h"
#include "secure/secagg/check_lanes.h"
#include "secure/secagg/round_session.h"
#include "tools/demo/options.h"
#include "tools/simulate/cohort_trainer.h"

namespace coterie {
namespace {

// Any name will do that no other session of the round has.
Digest session_name(size_t cohort) {
  DomainFields fields("coterie/v1/virtual-session");
  fields.add(uint64_t{cohort});
  return sha256(fields.view());
}

}  // namespace

DeviceId seeded_device(uint64_t seed, uint32_t device) {
  const auto signer = make_signer(KeyAlgorithm::ed25519, device_key(seed, device + 1));
  COT_ASSERT(signer.has_value());
  return device_id_of((*signer)->public_key());
}

VirtualCohorts::VirtualCohorts(const Plan& plan, uint64_t seed, uint32_t cohorts_max)
    : plan_(plan),
      seed_(seed),
      cohorts_max_(cohorts_max),
      session_(secagg::session_parameters(plan, plan.job, {}, {}, {})),
      sums_(secagg::masked_lane_count(session_)) {}

void VirtualCohorts::begin(const RoundKey& round, const Digest& model, const std::vector<uint32_t>& devices) {
  std::map<DeviceId, uint32_t> numbers;
  std::vector<DeviceId> ids;
  for (const uint32_t device : devices) {
    auto known = seeded_.find(device);
    if (known == seeded_.end()) known = seeded_.emplace(device, seeded_device(seed_, device)).first;
    numbers.emplace(known->second, device);
    ids.push_back(known->second);
  }
  placed_.clear();
  cohorts_.clear();
  for (const auto& cohort : secagg::drawn_cohorts({model, round.attempt}, ids, cohorts_max_, session_.survivors_min)) {
    for (const DeviceId& device : cohort) placed_.emplace(virtual_device(numbers.at(device)), cohorts_.size());
    cohorts_.push_back({session_name(cohorts_.size()), cohort.size()});
  }
}

SumMasks VirtualCohorts::masks() const {
  SumMasks masks{.parameters = session_, .sessions = cohorts_, .masks = {}};
  for (size_t cohort = 0; cohort < cohorts_.size(); ++cohort) {
    Result<MaskSum> none = MaskSum::make(session_.suite);
    COT_ASSERT(none.has_value());
    masks.masks.push_back(std::move(*none));
  }
  return masks;
}

Status VirtualCohorts::add(std::span<const float> values, uint32_t weight, const DeviceId& from) {
  const auto placed = placed_.find(from);
  COT_ASSERT(placed != placed_.end());
  const Digest& session = cohorts_[placed->second].session;
  // As a device sends them: values | weight | check lanes.
  std::vector<uint64_t> lanes(secagg::masked_lane_count(session_));
  COT_TRY(add_update(values, weight, plan_.update.fixed_point, std::span(lanes).first(values.size())));
  lanes[values.size()] = weight;
  secagg::write_check_lanes<uint64_t>(session_, session, std::span(lanes).subspan(values.size() + 1));
  sums_.merge_masked(std::span<const uint64_t>(lanes), session);
  return {};
}

}  // namespace coterie
