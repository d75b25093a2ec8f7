// Tensors of images that lie as NCHW in one program and as NHWC in another. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "proto/messages/model.h"

namespace coterie {

// channels_last: axis 1 becomes the last; channels_first: the last becomes axis 1. Fewer than three axes stay.
enum class AxisOrder : uint8_t { same, channels_last, channels_first };

Shape moved(const Shape& shape, AxisOrder order);
// Element: float or double.
template <typename Element>
std::vector<Element> moved(const std::vector<Element>& values, const Shape& shape, AxisOrder order);

// The orders that make `from` the shape `to`, sizes of 1 left aside: several where sizes are equal, none where nothing
// fits.
std::vector<AxisOrder> fitting_orders(const Shape& from, const Shape& to);

}  // namespace coterie
