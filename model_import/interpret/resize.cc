// Resize: nearest and linear, of any rank.
#include <algorithm>
#include <cmath>

#include "model_import/interpret/operator.h"

namespace coterie::model_import {
namespace {

// One dimension: how long it was and gets, and by which factor positions are scaled.
struct Axis {
  int64_t from = 1, to = 1;
  double scale = 1;
};

Result<double> origin(const std::string& mode, const Axis& axis, int64_t at) {
  const auto x = static_cast<double>(at);
  if (mode == "half_pixel") return (x + 0.5) / axis.scale - 0.5;
  if (mode == "pytorch_half_pixel") return axis.to > 1 ? (x + 0.5) / axis.scale - 0.5 : 0.0;
  if (mode == "align_corners")
    return axis.to > 1 ? x * static_cast<double>(axis.from - 1) / static_cast<double>(axis.to - 1) : 0.0;
  if (mode == "asymmetric") return x / axis.scale;
  return unknown_form("coordinate_transformation_mode " + mode);
}

Result<int64_t> nearest(const std::string& mode, double x) {
  if (mode == "round_prefer_floor") return whole(std::ceil(x - 0.5));
  if (mode == "round_prefer_ceil") return whole(std::floor(x + 0.5));
  if (mode == "floor") return whole(std::floor(x));
  if (mode == "ceil") return whole(std::ceil(x));
  return unknown_form("nearest_mode " + mode);
}

// The elements of the operand that one of the output is made of along a dimension, by their weights.
struct Source {
  int64_t first = 0, second = 0;
  double weight_of_second = 0;
};

Result<std::vector<Source>> sources_of(const Call& call, const Axis& axis, bool is_linear) {
  const std::string coordinates = call.node.text("coordinate_transformation_mode", "half_pixel");
  const auto kept = [&](int64_t at) { return std::clamp<int64_t>(at, 0, axis.from - 1); };
  std::vector<Source> sources;
  for (int64_t at = 0; at < axis.to; ++at) {
    // A dimension that keeps its size is left alone.
    double x = static_cast<double>(at);
    if (axis.scale != 1 || axis.from != axis.to) {
      COT_ASSIGN(x, origin(coordinates, axis, at));
    }
    if (is_linear) {
      const int64_t below = whole(std::floor(x));
      sources.push_back({kept(below), kept(below + 1), x - std::floor(x)});
    } else {
      COT_ASSIGN(const int64_t chosen, nearest(call.node.text("nearest_mode", "round_prefer_floor"), x));
      sources.push_back({kept(chosen), kept(chosen), 0});
    }
  }
  return sources;
}

Result<std::vector<Axis>> axes_of_resize(const Call& call) {
  const Array& x = call.operand(0);
  if (call.node.attributes.contains("axes")) return unknown_form("axes");
  if (call.node.integer("antialias", 0) != 0) return unknown_form("antialias");
  if (call.node.text("keep_aspect_ratio_policy", "stretch") != "stretch")
    return unknown_form("keep_aspect_ratio_policy");
  const bool has_scales = call.has(2) && call.operand(2).size() != 0;
  if (!has_scales && !call.has(3)) return bad_form("neither scales nor sizes");
  const Array& given = call.operand(has_scales ? 2 : 3);
  if (given.values.size() != x.rank()) return bad_form("not one scale or size a dimension");
  std::vector<Axis> axes;
  for (size_t i = 0; i < x.rank(); ++i) {
    Axis axis{.from = x.shape[i]};
    const double number = given.values[i];
    if (!(number > 0 && number < 1e9) || axis.from < 1) return bad_form("a scale or size out of range");
    axis.to = has_scales ? whole(std::floor(static_cast<double>(axis.from) * number)) : whole(number);
    axis.scale = has_scales ? number : number / static_cast<double>(axis.from);
    axes.push_back(axis);
  }
  return axes;
}

// Interpolates along one dimension after the other, which is the same as along all at once.
Result<Outputs> compute_resize(const Call& call) {
  const std::string mode = call.node.text("mode", "nearest");
  if (mode != "nearest" && mode != "linear") return unknown_form("mode " + mode);
  COT_ASSIGN(const std::vector<Axis> axes, axes_of_resize(call));
  Array y = call.operand(0);
  for (size_t i = 0; i < axes.size(); ++i) {
    Shape shape = y.shape;
    shape[i] = axes[i].to;
    COT_ASSIGN(Array next, zeros(y.element, shape));
    COT_ASSIGN(const std::vector<Source> sources, sources_of(call, axes[i], mode == "linear"));
    for_each_index(shape, [&](const Index& index, size_t to) {
      const Source& source = sources[static_cast<size_t>(index[i])];
      Index from = index;
      from[i] = source.first;
      const double first = y.values[offset_of(y.shape, from)];
      from[i] = source.second;
      const double second = y.values[offset_of(y.shape, from)];
      next.values[to] = source.weight_of_second == 0
                            ? first
                            : first * (1 - source.weight_of_second) + second * source.weight_of_second;
    });
    y = std::move(next);
  }
  return one(std::move(y));
}

}  // namespace

Operator resize_operator(const std::string& op) { return op == "Resize" ? compute_resize : nullptr; }

}  // namespace coterie::model_import
