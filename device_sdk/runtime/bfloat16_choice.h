// Which values are held as bfloat16 between forward and backward: those whose rounding makes the arena smaller, and no
// others.
//
// A narrowed value is rounded, so it has to pay. It pays where it is alive when most bytes are: elsewhere its copy
// takes the place of what is free anyway. Groups are added as long as the most bytes alive do not grow, and then taken
// away again as long as they do not grow, so that without any one of those that are left the step would need more. The
// plan has the last word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/program.h"

namespace coterie {

struct NarrowedChoice {
  std::vector<size_t> groups;  // rising
  uint64_t bytes_saved = 0;    // of Program::planned_bytes()
};

// None, or groups with which the program, its steps joined, is planned smaller than with none by at least a
// sixty-fourth. `program` is ready for join_elementwise(). The buffers of a group are ones that hold_as_bfloat16()
// picks, and are narrowed together; of groups that help as well those in front are kept. Deterministic. Errors:
// too_large, as Program::plan.
Result<NarrowedChoice> choose_narrowed(const Program& program, std::span<const std::vector<BufferId>> groups,
                                       uint64_t bytes_max);

}  // namespace coterie
