// OpenedSums: all that a server knows of the updates of one model: sums, each over a set of devices. Whether a
// combination of them, with whatever factors, is one device's update.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace coterie::simulation {

class OpenedSums {
 public:
  explicit OpenedSums(uint32_t devices) : devices_(devices) {}

  // The sum over these devices' updates is known; one device: its update is.
  void add(std::span<const uint32_t> devices);
  // Whether the update of this one follows from all sums.
  bool tells(uint32_t device) const;

 private:
  using Row = std::vector<uint64_t>;  // a factor for each device, modulo a prime

  uint32_t devices_;
  // Reduced: the first factor of each is 1, and all others have 0 there. What is a unit vector's combination is then a
  // row by itself.
  std::vector<Row> rows_;
};

}  // namespace coterie::simulation
