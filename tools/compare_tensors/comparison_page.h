// A comparison as a page: a table of all metrics, and of each tensor a scatter plot and two histograms. Pure.
//
// One file that asks for nothing and runs nothing: its policy (CSP) is default-src 'none' and the hashes of its own
// style sheets; it has no script. Names of tensors are text of others and are escaped. Well-formed XML behind its first
// line.
#pragma once

#include <string>

#include "tools/compare_tensors/tensor_comparison.h"

namespace coterie {

constexpr size_t kPicturesMax = 200;  // origins first, then what is apart, then the others

// `a` and `b` are what the two are called.
std::string comparison_page(const TensorComparison& comparison, const std::string& a, const std::string& b);

}  // namespace coterie
