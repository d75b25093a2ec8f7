// What a device has met last on its way from a check-in to a sum (proto/messages/device_gate.h), as the device itself
// knows it: for whoever asks it why it takes no part. Nothing of it leaves the device. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "proto/messages/device_gate.h"

namespace coterie {

struct MetGate {
  DeviceGate gate = DeviceGate::not_enrolled;
  std::string reason;  // as DeviceGate says; mostly empty
  RoundKey round;      // zeros: none
  WallTime since{};    // when it came to this gate
  std::string detail;  // one sentence, of the device or its server; mostly empty
  bool is_same(const MetGate& other) const {
    return gate == other.gate && reason == other.reason && round == other.round;
  }
};

// A small file, and back: data_loss if it is none.
std::string to_text(const MetGate& met);
Result<MetGate> met_gate_from(std::string_view text);

}  // namespace coterie
