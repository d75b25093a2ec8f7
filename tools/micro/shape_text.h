// Sizes of a layer as C.
#pragma once

#include <string>
#include <variant>

#include "train_kernels/shapes.h"

namespace coterie {

using LayerShape = std::variant<std::monostate, kernels::DenseShape, kernels::Conv2dShape, kernels::Pool2dShape>;

// "static const TYPE NAME = {...};" with a line end, TYPE one of kernel_text.h; empty where there are no sizes.
std::string shape_constant(const std::string& name, const LayerShape& shape);

// The same for a program that trains: a layer with windows has kWindowShape's type (pass_text.h).
std::string pass_shape_constant(const std::string& name, const LayerShape& shape);

}  // namespace coterie
