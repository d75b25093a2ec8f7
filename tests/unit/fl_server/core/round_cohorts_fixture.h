// Cohorts of a round and devices that take part in them, call by call.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "fl_server/core/round_cohorts.h"
#include "tests/support/matchers.h"
#include "tests/unit/fl_server/core/cohort_device.h"

namespace coterie::test {

inline constexpr Millis kAdvertising{10'000}, kPhase{1'000}, kPatience{100};

class RoundCohortsTest : public testing::Test {
 protected:
  RoundCohortsTest() {
    parameters_.context.bytes.fill(3);
    parameters_.lane_count = 4;
    parameters_.ring_bits = 64;
    parameters_.survivors_min = 3;
  }

  // `goal` devices in `count` cohorts, `enough` of which will do; all of `devices` are there.
  void begin(uint32_t count, uint32_t goal, uint32_t enough, uint32_t devices, uint32_t least = 0,
             const std::optional<secagg::CohortDraw>& draw = {}) {
    const std::vector<uint64_t> seeds(count, 1);
    cohorts_ = *RoundCohorts::make(parameters_,
                                   {.cohort_count = count,
                                    .adverts_goal = goal,
                                    .adverts_enough = enough,
                                    .adverts_least = least,
                                    .cohort = {.advertising_max = kAdvertising,
                                               .phase_max = kPhase,
                                               .dropout_share = 0.3,
                                               .patience_min = kPatience},
                                    .draw = draw},
                                   seeds, accept_all, now_);
    for (uint32_t i = 0; i < devices; ++i) devices_.push_back(cohort_device(parameters_, i));
  }
  Status send(CohortDevice& device, const CohortMessage& message) {
    return cohorts_->receive(device.id, device.signer->public_key(), message, now_);
  }
  template <typename Message>
  Message asked(CohortDevice& device, CohortQuestion question) {
    const Result<CohortReply> reply = cohorts_->ask(device.id, question, now_);
    EXPECT_OK(reply);
    return std::get<Message>(*reply);
  }
  Status advertise(uint32_t device) { return send(devices_[device], devices_[device].client->advert()); }
  void share(uint32_t device) {
    const auto shares = devices_[device].client->share(asked<RosterView>(devices_[device], CohortQuestion::roster));
    ASSERT_OK(shares);
    ASSERT_OK(send(devices_[device], *shares));
  }
  void mask(uint32_t device) {
    const auto masking =
        devices_[device].client->mask(asked<ShareInbox>(devices_[device], CohortQuestion::share_inbox));
    ASSERT_OK(masking);
    ASSERT_OK(cohorts_->input_arrived(devices_[device].id, masking->head(), now_));
    ASSERT_OK(cohorts_->input_accepted(devices_[device].id, masking->head(), now_));
  }
  void confirm(uint32_t device) {
    const auto answer =
        devices_[device].client->confirm(asked<ConfirmRequest>(devices_[device], CohortQuestion::confirm_request));
    ASSERT_OK(answer);
    ASSERT_OK(send(devices_[device], *answer));
  }
  void unmask(uint32_t device) {
    const auto answer =
        devices_[device].client->unmask(asked<UnmaskRequest>(devices_[device], CohortQuestion::unmask_request));
    ASSERT_OK(answer);
    ASSERT_OK(send(devices_[device], *answer));
  }
  // Up to their durable updates.
  void mask_all(const std::vector<uint32_t>& devices) {
    for (const uint32_t device : devices) share(device);
    for (const uint32_t device : devices) mask(device);
  }
  void open_all(const std::vector<uint32_t>& devices) {
    for (const uint32_t device : devices) confirm(device);
    for (const uint32_t device : devices) unmask(device);
  }
  std::vector<DeviceId> ids(const std::vector<uint32_t>& devices) const {
    std::vector<DeviceId> ids;
    for (const uint32_t device : devices) ids.push_back(devices_[device].id);
    return ids;
  }
  void pass(Millis time) { cohorts_->time_passed(now_ += time); }
  static std::vector<uint32_t> range(uint32_t first, uint32_t end) {
    std::vector<uint32_t> all;
    for (uint32_t i = first; i < end; ++i) all.push_back(i);
    return all;
  }
  std::vector<uint32_t> sizes() const {
    std::vector<uint32_t> sizes;
    for (const secagg::Server* session : cohorts_->sessions()) sizes.push_back(session->size());
    return sizes;
  }

  secagg::SessionParameters parameters_;
  Instant now_{Millis(5'000)};
  std::optional<RoundCohorts> cohorts_;
  std::vector<CohortDevice> devices_;
};

}  // namespace coterie::test
