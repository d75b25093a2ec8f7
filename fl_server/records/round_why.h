// What became of the devices that asked in an attempt: as its nodes have told it, added up. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "scheduler/selection/told_gates.h"

namespace coterie {

// What one life of a node said last of an attempt: numbers alone. `devices`: by name_of(GateCode), summing to `asked`.
struct GateRow {
  std::string life;
  uint64_t asked = 0;
  std::map<std::string, uint64_t> devices;
  friend bool operator==(const GateRow&, const GateRow&) = default;
};

GateRow gate_row_of(const ToldGates& told, std::string life);

// `devices` as text, "counted=3 plan_refused/analytics=1", and back: data_loss unless it sums to `asked`.
std::string gates_text(const GateRow& row);
Result<GateRow> gate_row_from(std::string life, uint64_t asked, std::string_view text);

struct WhyLine {
  std::string code;    // a DeviceGate's name, or that of a later version
  std::string reason;  // of it; mostly empty
  uint64_t devices = 0;
  friend bool operator==(const WhyLine&, const WhyLine&) = default;
};

// An attempt: the codes in the order of the way through a round, none with 0 devices. They sum to `asked`.
struct RoundWhy {
  uint64_t asked = 0;
  std::vector<WhyLine> lines;
};

// How many devices the store counts in an attempt. is_final: it is done, so that there are no others.
struct CountedDevices {
  uint64_t devices = 0;
  bool is_final = false;
};

// `counted`: what nodes said is less where a node ended before its last word, or where a device has sent its update to
// another node than the one that gave it the ticket. The others are taken from those that have a ticket and were not
// heard of since, those furthest on first. What nodes said is more where a device had tickets of two, and both have
// heard that it counts: it is told of once. is_over: the attempt takes no more updates, so nobody waits for it,
// whatever a node said last.
//
// Otherwise a device that asked two lives of nodes, as one was killed or the other was nearer, is two.
RoundWhy why_of(std::span<const GateRow> rows, const CountedDevices& counted, bool is_over);

}  // namespace coterie
