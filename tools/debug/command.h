// The debugger's commands: one line each. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace coterie {

enum class DebugVerb : uint8_t {
  step,
  proceed,  // "continue"
  run,
  back,
  list,
  stats,
  print,
  compare,
  watch,
  unwatch,
  recheck,
  save,
  where,
  help,
  quit
};

inline constexpr uint64_t kDebugStepMax = UINT32_MAX;  // as many as a training may have
inline constexpr size_t kDebugLineBytesMax = 4096;

struct CheckWord {   // a setting of a check: "ratio_above 0.5"
  std::string name;  // empty: the check's threshold, where it has one alone
  double value = 0;
};

struct DebugCommand {
  DebugVerb verb = DebugVerb::help;
  std::optional<uint64_t> number;  // of steps, a step, or a watchpoint
  std::string tensor;              // a name or a pattern of one; list: of several
  std::string slice;               // what stands between the brackets behind the tensor
  std::string check;               // watch: empty: list them; or "recommended"
  std::vector<CheckWord> settings;
  std::string file;  // save
};

// "print conv1.weight[0, :3, 2]", "w dead_relu on gate* steps 3". Empty lines are none. A name with blanks or brackets
// stands in double quotes. Errors: invalid_argument says what is expected; too_large: the line is longer than
// kDebugLineBytesMax.
Result<std::optional<DebugCommand>> parse_debug_command(std::string_view line);

// What each command does: at most 80 columns.
std::string debug_help();

}  // namespace coterie
