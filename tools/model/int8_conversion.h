// Whether a file that computes in int8 answers as the QDQ graph says that it was made of.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "device_sdk/runtime/int8/int8_model.h"
#include "model_import/graph/graph.h"

namespace coterie {

// So many in a thousand of the numbers that a network answers with may be more than a step of its last grid off: the
// interpreter computes in doubles, and sees a tie now and then that float32 does not, or the other way.
inline constexpr uint64_t kApartPerThousandMax = 20;
// None of them further than this: a tie within the network moves an answer by a step or two, another computation by
// many.
inline constexpr double kStepsApartMax = 8;

struct Int8Conversion {
  uint64_t examples = 0, numbers = 0;
  uint64_t apart = 0;  // numbers that are more than a step off
  double largest = 0;  // difference
  double step = 0;     // the scale of the last grid
  bool agrees() const { return apart * 1000 <= numbers * kApartPerThousandMax && largest <= kStepsApartMax * step; }
};

// Inputs are random over the whole grid of the model's input. `graph` as the reader handed it over, with one output;
// `sizes` of open dimensions. Errors: those of random_inputs and interpret; malformed: the file has other sizes than
// the graph.
Result<Int8Conversion> check_int8_conversion(const model_import::Graph& graph,
                                             const std::map<std::string, int64_t>& sizes, const Int8Model& model);

}  // namespace coterie
