// What the debugger shows of recorded steps and tensors: lines of at most 80 columns. Pure.
#pragma once

#include <string>
#include <vector>

#include "tools/debug/element_slice.h"
#include "tools/debug/recorded_tensors.h"

namespace coterie {

inline constexpr size_t kListedTensorsMax = 200;
inline constexpr uint64_t kPrintedValuesMax = 600;

// "step 12  loss 0.4312  learning rate 0.1  32 examples"; of a step that failed why.
std::string step_line(const StepRecord& record);
// A row for each tensor.
std::string list_text(const std::vector<const NamedTensor*>& tensors);
// What it is like, with a histogram.
std::string stats_text(const NamedTensor& tensor);
// The values of a slice, rows of the last axis together; the first kPrintedValuesMax of them.
std::string values_text(const NamedTensor& tensor, const ElementSlice& slice);
// Both have as many values.
std::string comparison_text(const NamedTensor& now, const NamedTensor& before, uint64_t step, uint64_t step_before);
// The op that made it, and the ranges of what that read and made.
std::string origin_text(const Model& model, const StepRecord& record, const RecordedTensors& tensors,
                        const NamedTensor& tensor);

}  // namespace coterie
