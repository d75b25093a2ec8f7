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

std::string constant(const std::string& type, const std::string& name, const std::string& fields) {
  return "static const " + type + " " + name + " =\n  {" + fields + "};\n";
}

// A pool is a convolution whose channels are groups; its dilation is 1.
template <typename Shape>
std::string window_fields(const Shape& s, size_t filters, size_t groups, size_t dilation_h, size_t dilation_w) {
  return field("height", s.height) + ", " + field("width", s.width) + ", " + field("channels", s.channels) + ",\n   " +
         field("windows", s.out_h() * s.out_w() * groups) + ", " + field("out_w", s.out_w()) + ", " +
         field("filters", filters) + ",\n   " + field("taps", s.kernel_h * s.kernel_w) + ", " +
         field("kernel_w", s.kernel_w) + ", " + field("stride_h", s.stride_h) + ", " + field("stride_w", s.stride_w) +
         ",\n   " + field("pad_top", s.pad_top) + ", " + field("pad_left", s.pad_left) + ", " +
         field("groups", groups) + ", " + field("dilation_h", dilation_h) + ", " + field("dilation_w", dilation_w);
}

}  // namespace

std::string shape_constant(const std::string& name, const LayerShape& shape) {
  return std::visit(
      [&]<typename Shape>(const Shape& s) -> std::string {
        if constexpr (std::is_same_v<Shape, std::monostate>) return "";
        else return constant(type_of(s), name, fields_of(s));
      },
      shape);
}

std::string pass_shape_constant(const std::string& name, const LayerShape& shape) {
  constexpr const char* kType = "window_shape";
  if (const auto* conv = std::get_if<kernels::Conv2dShape>(&shape)) {
    return constant(kType, name, window_fields(*conv, conv->filters, conv->groups, conv->dilation_h, conv->dilation_w));
  }
  if (const auto* pool = std::get_if<kernels::Pool2dShape>(&shape)) {
    return constant(kType, name, window_fields(*pool, pool->channels, pool->channels, 1, 1));
  }
  return shape_constant(name, shape);
}

}  // namespace coterie
