// Two networks of any formats on the same inputs, value by value. Pure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/compare_tensors/tensor_comparison.h"
#include "tools/compare_tensors/tensor_trace.h"

namespace coterie {

// What is not the same about the ops that made two values, by their places in the traces.
using OpNotes = std::function<std::vector<std::string>(uint32_t a, uint32_t b)>;

// b is the reference. Values are paired by align_traces(); where both have room for it, a's axes are put into b's order
// (axis_order.h), of several orders the one in which they are nearest. A cause is apart while all that it reads agrees.
// `notes`, if it is there, is asked about what is apart. Errors: invalid_argument (not as many inputs).
Result<TensorComparison> compare_traces(const TensorTrace& a, const TensorTrace& b, double tolerance,
                                        const OpNotes& notes = {});

}  // namespace coterie
