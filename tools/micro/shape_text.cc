#include "tools/micro/shape_text.h"

namespace coterie {
namespace {

std::string field(const char* name, size_t value) { return "." + std::string(name) + " = " + std::to_string(value); }

std::string fields_of(const kernels::DenseShape& s) { return field("in", s.in) + ", " + field("out", s.out); }

std::string fields_of(const kernels::Conv2dShape& s) {
  return field("height", s.height) + ", " + field("width", s.width) + ", " + field("channels", s.channels) + ",\n   " +
         field("out_h", s.out_h()) + ", " + field("out_w", s.out_w()) + ", " + field("filters", s.filters) + ",\n   " +
         field("kernel_h", s.kernel_h) + ", " + field("kernel_w", s.kernel_w) + ", " + field("stride_h", s.stride_h) +
         ", " + field("stride_w", s.stride_w) + ",\n   " + field("pad_top", s.pad_top) + ", " +
         field("pad_left", s.pad_left) + ", " + field("groups", s.groups) + ", " + field("dilation_h", s.dilation_h) +
         ", " + field("dilation_w", s.dilation_w);
}

std::string fields_of(const kernels::Pool2dShape& s) {
  return field("height", s.height) + ", " + field("width", s.width) + ", " + field("channels", s.channels) + ", " +
         field("out_h", s.out_h()) + ", " + field("out_w", s.out_w()) + ",\n   " + field("kernel_h", s.kernel_h) +
         ", " + field("kernel_w", s.kernel_w) + ", " + field("stride_h", s.stride_h) + ", " +
         field("stride_w", s.stride_w) + ", " + field("pad_top", s.pad_top) + ", " + field("pad_left", s.pad_left);
}

const char* type_of(const kernels::DenseShape&) { return "dense_shape"; }
const char* type_of(const kernels::Conv2dShape&) { return "conv2d_shape"; }
const char* type_of(const kernels::Pool2dShape&) { return "pool2d_shape"; }

}  // namespace

std::string shape_constant(
    const std::string& name,
    const std::variant<std::monostate, kernels::DenseShape, kernels::Conv2dShape, kernels::Pool2dShape>& shape) {
  return std::visit(
      [&]<typename Shape>(const Shape& s) -> std::string {
        if constexpr (std::is_same_v<Shape, std::monostate>) {
          return "";
        } else {
          return "static const " + std::string(type_of(s)) + " " + name + " =\n  {" + fields_of(s) + "};\n";
        }
      },
      shape);
}

}  // namespace coterie
