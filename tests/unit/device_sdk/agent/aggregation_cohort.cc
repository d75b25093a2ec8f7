#include "tests/unit/device_sdk/agent/aggregation_cohort.h"

#include "device_sdk/agent/encode_update.h"
#include "proto/ring/ring_vector.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"

namespace coterie::test {

Cohort::Cohort(SecurityLevel level, uint32_t devices, const StalenessRules& staleness)
    : plane(level, *make_model(ModelKind::mlp, {4, 4, 1}, 3, 1), devices, staleness) {
  for (uint32_t who = 0; who < devices; ++who) {
    Device& device = devices_.emplace_back();
    device.examples = std::make_unique<Examples>(12 + who, 16, 3, who + 1);
    device.settings.state_dir = directory_ / std::to_string(who);
    device.settings.enrollment_token = "token";
    device.settings.seed = 5 + who;
    device.settings.policy.backoff_first = device.settings.policy.refusal_pause = Millis(0);
    // ECDSA signatures differ each time: a restart must not sign again.
    if (who == 1) device.settings.key_algorithm = KeyAlgorithm::p256;
  }
}

Cohort::~Cohort() = default;

Status Cohort::open(uint32_t who) {
  devices_[who].agent.reset();
  COT_ASSIGN(devices_[who].agent, Agent::open(devices_[who].settings, plane.transport(who), *devices_[who].examples));
  return {};
}

Status Cohort::run() {
  for (uint32_t who = 0; who < devices_.size(); ++who) COT_TRY(open(who));
  int quiet = 0;
  for (int sweep = 0; sweep < 1000 && !plane.is_over(); ++sweep) {
    const int before = plane.news();
    bool is_busy = false;
    for (uint32_t who = 0; who < devices_.size(); ++who) {
      if (plane.has_vanished(who)) continue;
      if (before_step) before_step(who);
      COT_TRY(step(who));
      const ParticipantPhase phase = state(who).phase;
      is_busy |= phase != ParticipantPhase::aggregating && phase != ParticipantPhase::idle;
    }
    quiet = is_busy || plane.news() != before ? 0 : quiet + 1;
    if (quiet < quiet_sweeps) continue;
    quiet = 0;
    COT_TRY(plane.close());
  }
  for (uint32_t who = 0; who < devices_.size(); ++who) {
    for (int i = 0; i < 4 && !plane.has_vanished(who); ++i) COT_TRY(step(who));
  }
  return {};
}

std::vector<uint64_t> Cohort::expected_sum(const std::vector<uint32_t>& survivors) {
  const Model model = load_or_die(make_model(ModelKind::mlp, {4, 4, 1}, 3, 1));
  std::vector<uint64_t> lanes(model.value_count() + 1);
  for (const uint32_t who : survivors) {
    Examples examples(12 + who, 16, 3, who + 1);
    const uint64_t seed = Prng::derived(devices_[who].settings.seed, plane.assignment().model_version.value()).next();
    Result<Trainer> trainer = Trainer::create(model, plane.plan().training, examples, seed);
    EXPECT_OK(trainer);
    while (!trainer->finished()) EXPECT_OK(trainer->step());
    std::vector<float> delta(model.value_count());
    trainer->delta(delta);
    EXPECT_OK(limit_update(delta, plane.plan().update));
    EXPECT_OK(add_update(delta, 12 + who, plane.plan().update.fixed_point, std::span(lanes).first(delta.size())));
    lanes.back() += 12 + who;
  }
  return lanes;
}

}  // namespace coterie::test
