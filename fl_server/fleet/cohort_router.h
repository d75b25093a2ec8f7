// CohortRouter: to this server's own sessions of secure aggregation while it leads, to another's otherwise.
#pragma once

#include <atomic>

#include "fl_server/runtime/fleet_link.h"

namespace coterie {

class CohortRouter final : public CohortOwner {
 public:
  // Both outlive this.
  CohortRouter(CohortOwner& own, CohortOwner& other) : own_(own), other_(other) {}
  void set_owning(bool owning) { owning_ = owning; }

  void cohort_receive(const RoundKey& key, const DeviceId& device, Bytes public_key, CohortMessage message,
                      std::function<void(Status)> answer) override {
    owner().cohort_receive(key, device, std::move(public_key), std::move(message), std::move(answer));
  }
  void cohort_ask(const RoundKey& key, const DeviceId& device, CohortQuestion question, Millis hold,
                  std::function<void(Result<CohortReply>)> answer) override {
    owner().cohort_ask(key, device, question, hold, std::move(answer));
  }
  void cohort_input_arrived(const RoundKey& key, const DeviceId& device, MaskedInput input,
                            std::function<void(Status)> answer) override {
    owner().cohort_input_arrived(key, device, std::move(input), std::move(answer));
  }

 private:
  CohortOwner& owner() { return owning_ ? own_ : other_; }

  CohortOwner& own_;
  CohortOwner& other_;
  std::atomic<bool> owning_{false};
};

}  // namespace coterie
