// StepInfo: a step of a Program as people and tools read it. Program::steps() makes them (program_steps.cc).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "device_sdk/runtime/arena.h"
#include "device_sdk/runtime/program_buffer.h"

namespace coterie {

// prepare: once, before the others. forward (with the loss), backward, update: run separately, so that a loss that is
// not finite changes nothing.
enum class Phase : uint8_t { prepare, forward, backward, update };
inline constexpr size_t kPhases = 4;
constexpr std::string_view to_string(Phase phase) {
  constexpr std::string_view kNames[kPhases] = {"prepare", "forward", "backward", "update"};
  return kNames[static_cast<size_t>(phase)];
}

struct OperandInfo {
  BufferContent content;  // with its elements
  uint64_t bytes = 0;     // of those
  BufferPlace place = BufferPlace::planned;
  Region region = Region::parameters;  // fixed
  uint64_t offset = 0;                 // bytes; planned: in the planned memory, once planned; fixed: in its region
  bool is_made = false;                // planned memory that no step in front names: this one writes it
};

struct StepInfo {
  Phase phase = Phase::forward;
  std::string_view name;  // of its kind; of static duration
  std::string settings;
  uint32_t origin = 0;                // an op's index, or kLossOrigin, kUpdateOrigin
  std::vector<OperandInfo> operands;  // in the order of its buffers, those that are absent left out
  uint64_t bytes() const {
    uint64_t sum = 0;
    for (const OperandInfo& operand : operands) sum += operand.bytes;
    return sum;
  }
};

}  // namespace coterie
