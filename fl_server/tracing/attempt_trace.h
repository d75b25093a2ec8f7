// AttemptTrace: what is kept of one attempt at a round for whoever asks where its time went; and several of them as a
// file for Perfetto. Names no device: those that are shown are numbers of this attempt alone.
#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "fl_server/tracing/span.h"
#include "fl_server/tracing/store_call.h"

namespace coterie {

struct AttemptTrace {
  static constexpr size_t kStepsOfDevice = 4;  // DeviceStep (telemetry/round_probe.h)

  struct Device {
    uint64_t place = 0;                                           // in the draw of those that are shown
    std::array<std::optional<WallTime>, kStepsOfDevice> at = {};  // drawn, uploads, received, accepted
  };

  JobId job;
  RoundKey key;
  uint64_t number = 0;      // of the job's round
  std::vector<Span> spans;  // as RoundSpans tells them; empty: it is under way
  std::vector<StoreCall> calls;
  uint64_t calls_left_out = 0;
  std::vector<Device> devices;
  uint64_t devices_drawn = 0;  // all of them
};

// Trace Event Format (base/json/trace_event_writer.h): a process an attempt, in the order given; threads: phases, store
// calls (as many as overlap), and one a device.
std::string trace_file(std::span<const AttemptTrace> attempts);

}  // namespace coterie
