// RoundProbe: hears what took how long in an attempt at a round, from whoever does it. Where nobody listens there is no
// probe, and no clock is read.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "base/ids.h"

namespace coterie {

// How far a device has come in an attempt, as this server sees it.
enum class DeviceStep : uint8_t {
  drawn,     // it has its ticket
  uploads,   // its update is offered
  received,  // whole
  accepted,  // durable
};

class RoundProbe {
 public:
  virtual ~RoundProbe() = default;
  // Both: any thread; they do not block.
  // A call of a store has returned, that began then (since 1970). `call`: a literal; those of a blob store begin with
  // "read " or "write ", and no others do.
  virtual void store_called(const RoundKey& key, std::string_view call, std::chrono::microseconds began,
                            std::chrono::microseconds took) = 0;
  // `device` is told, and is not kept.
  virtual void device_at(const RoundKey& key, const DeviceId& device, DeviceStep step) = 0;
};

// Tells the probe, if there is one, of a call from its construction until returned().
class ProbedCall {
 public:
  explicit ProbedCall(RoundProbe* probe) : probe_(probe) {
    if (probe_ == nullptr) return;
    wall_ = std::chrono::system_clock::now();
    begin_ = std::chrono::steady_clock::now();
  }
  void returned(const RoundKey& key, std::string_view call) const {
    if (probe_ == nullptr) return;
    const auto took = std::chrono::steady_clock::now() - begin_;
    probe_->store_called(key, call, std::chrono::duration_cast<std::chrono::microseconds>(wall_.time_since_epoch()),
                         std::chrono::duration_cast<std::chrono::microseconds>(took));
  }

 private:
  RoundProbe* const probe_;
  std::chrono::system_clock::time_point wall_;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace coterie
