// Orders of dimensions: a graph says one (images have their channels first), a tensor of the model lies in another.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "proto/messages/model.h"

namespace coterie::model_import {

using Order = std::vector<uint32_t>;  // dimension i of one is dimension order[i] of the other

Order identity_order(size_t rank);
Order image_order(size_t rank);  // batch, spatial dimensions, channels: of [batch, channels, spatial...]
Shape permuted(const Shape& shape, const Order& order);
Shape unpermuted(const Shape& shape, const Order& order);  // permuted(unpermuted(s, o), o) == s

// Elements of a tensor of this shape in another order of dimensions.
std::vector<float> permuted_elements(std::span<const float> values, const Shape& shape, const Order& order);
// The source of each element of a tensor whose dimensions are put into another order.
std::vector<uint64_t> permuted_indices(const Shape& shape, const Order& order);

// The order with dimension `axis`, or all from there on, at the end, in the graph's order.
Order with_last(Order order, uint32_t axis);
Order with_tail(const Order& order, uint32_t axis);
// Where dimension `axis` of the value lies in a tensor of that order.
uint32_t position_of(const Order& order, uint32_t axis);

}  // namespace coterie::model_import
