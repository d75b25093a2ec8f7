// Which value of one network stands where a value of another one does. Pure.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tools/compare_tensors/tensor_trace.h"

namespace coterie {

// In this order: name, of the value; output, of the networks; layer, the name of the op that makes it; place, the first
// op of its kind behind values that are a pair, what has no counterpart in between left aside. Its shape decides
// between several.
enum class PairedBy : uint8_t { name, output, layer, place };
constexpr std::string_view to_string(PairedBy by) {
  constexpr std::string_view kNames[] = {"name", "output", "layer", "place"};
  return kNames[static_cast<size_t>(by)];
}

struct TracePair {
  uint32_t a = 0, b = 0;
  PairedBy by = PairedBy::name;
};

// In a's order, each value in one pair at most, without the inputs: those are pairs by their position, and both have as
// many. Names of digits alone are none: exporters count. Kinds are one where formats call them otherwise (Gemm and
// dense). A layer that one network has folded the norm or bias behind it into is a pair with that norm or sum. Values
// that are only moved (Reshape, Transpose) are pairs by their names or as outputs; recurrent layers not by place.
std::vector<TracePair> align_traces(const TensorTrace& a, const TensorTrace& b);

}  // namespace coterie
