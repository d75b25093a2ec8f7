// DropTrace: which device is lost in which round, as a file says it: a line `device,round`, both counted from 1. A
// first line that says just that is a heading. Pure.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace coterie {

class DropTrace {
 public:
  DropTrace() = default;
  // Errors name the line: malformed (not two numbers, an empty line, a line twice); invalid_argument (a device above
  // `devices`, a number below 1).
  static Result<DropTrace> parse(std::string_view text, uint32_t devices);

  // `device` from 0, as everywhere in the simulator.
  bool drops(uint32_t device, uint64_t round) const;
  size_t size() const { return lost_.size(); }

 private:
  std::vector<uint64_t> lost_;  // device << 32 | round, sorted
};

}  // namespace coterie
