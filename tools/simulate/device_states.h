// DeviceStates: what the devices of a virtual fleet keep from round to round (proto/messages/drift_correction.h), in
// memory: a vector of the model's values for each device that was counted once. As on a device, what a training makes
// is staged, and kept when its update is counted.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace coterie {

// Reading is any thread's while nobody commits.
class DeviceStates {
 public:
  // Empty: the device has none yet.
  std::vector<float> of(uint32_t device) const {
    const auto found = kept_.find(device);
    return found == kept_.end() ? std::vector<float>() : found->second;
  }
  void stage(uint32_t device, std::vector<float> state) { staged_[device] = std::move(state); }
  // In the order of the devices.
  template <typename Take>
  void for_each(const Take& take) const {
    for (const auto& [device, state] : std::map(kept_.begin(), kept_.end())) take(device, state);
  }
  // The round with these updates is done.
  void commit() {
    for (auto& [device, state] : staged_) kept_[device] = std::move(state);
    staged_.clear();
  }
  // It is not, and is made again.
  void drop() { staged_.clear(); }

 private:
  std::unordered_map<uint32_t, std::vector<float>> kept_;
  std::map<uint32_t, std::vector<float>> staged_;
};

}  // namespace coterie
