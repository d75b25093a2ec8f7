// How two weights of one place in two graphs differ, in words. Pure.
#pragma once

#include <span>
#include <string>

#include "proto/messages/model.h"

namespace coterie {

// "" if no element is off by more than the tolerance times b's largest value; else "transposed", "its channels are in
// another order" (those of the last dimension), "of another shape: 3x3, 9", or "off by 0.52 of the largest value".
std::string weight_note(std::span<const float> a, const Shape& shape_a, std::span<const float> b, const Shape& shape_b,
                        double tolerance);

}  // namespace coterie
