// How far what computes may be changed, as levels that users of compilers know (docs/MODELS.md has their passes).
#pragma once

#include <cstdint>

namespace coterie {

// Each level has all before it.
enum class Optimisation : uint8_t {
  none = 0,      // op by op, as the graph stands
  exact = 1,     // the same bits; denormal numbers may become zeros, as they do in arithmetic here
  rounding = 2,  // the same but for rounding, of finite values
  trading = 3,   // the same in exact arithmetic alone
};

}  // namespace coterie
