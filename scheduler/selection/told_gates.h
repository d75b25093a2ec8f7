// ToldGates: how many devices of an attempt are at which gate (gate_accounts.h), in numbers alone.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "proto/messages/device_gate.h"

namespace coterie {

class Error;

// `reason`: a constant that outlives all: of refusal_reason with plan_refused, of ErrorTraits with update_refused,
// empty with all others.
struct GateCode {
  DeviceGate gate = DeviceGate::waiting;
  std::string_view reason = {};
  friend auto operator<=>(const GateCode&, const GateCode&) = default;
};

// "plan_refused/analytics"; without a reason the gate's name.
std::string name_of(const GateCode& code);

// The gate of an update that is refused with this error.
GateCode gate_of_refusal(const Error& error);

using GateCounts = std::map<GateCode, uint64_t>;

// How an attempt's devices stand: `devices` by gate, none of them 0, sums to `asked`.
struct ToldGates {
  RoundKey key;
  uint64_t asked = 0;
  GateCounts devices;
};

}  // namespace coterie
