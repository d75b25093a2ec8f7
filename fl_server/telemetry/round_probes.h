// RoundProbes: tells several probes what one is told.
#pragma once

#include <vector>

#include "fl_server/telemetry/round_probe.h"

namespace coterie {

class RoundProbes final : public RoundProbe {
 public:
  // Before anything is told. `probe` outlives this, or nothing is told any more.
  void add(RoundProbe& probe) { probes_.push_back(&probe); }

  void store_called(const RoundKey& key, std::string_view call, std::chrono::microseconds began,
                    std::chrono::microseconds took) override {
    for (RoundProbe* const probe : probes_) probe->store_called(key, call, began, took);
  }
  void device_at(const RoundKey& key, const DeviceId& device, DeviceStep step) override {
    for (RoundProbe* const probe : probes_) probe->device_at(key, device, step);
  }

 private:
  std::vector<RoundProbe*> probes_;
};

}  // namespace coterie
