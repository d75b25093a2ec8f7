// CountedShares: how a simulation's rounds were shared out among its devices.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace coterie {

class CountedShares {
 public:
  explicit CountedShares(uint32_t devices) : counted_(devices) {}
  explicit CountedShares(std::vector<uint32_t> counted) : counted_(std::move(counted)) {}

  void add(const std::vector<uint32_t>& counted) {
    for (const uint32_t device : counted) ++counted_[device];
  }
  // Rounds, by device.
  const std::vector<uint32_t>& counted() const { return counted_; }
  // Devices whose update counted at least once.
  uint64_t devices() const;
  // Shares of all counted updates that the quarters of the devices have, the fastest first; what does not divide by
  // four goes to the slower. Zeros, if nothing is counted.
  std::array<double, 4> by_speed(const std::function<double(uint32_t)>& seconds_of) const;

 private:
  std::vector<uint32_t> counted_;
};

}  // namespace coterie
