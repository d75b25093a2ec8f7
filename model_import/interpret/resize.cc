// Resize: nearest, linear and cubic, of any rank.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "model_import/interpret/operator.h"

namespace coterie::model_import {
namespace {

// One dimension: how long it was and gets, and by which factor positions are scaled.
struct Axis {
  int64_t from = 1, to = 1;
  double scale = 1;
  double begin = 0, end = 1;  // of tf_crop_and_resize, as shares
};

Result<double> origin(const std::string& mode, const Axis& axis, int64_t at) {
  const auto x = static_cast<double>(at);
  if (mode == "half_pixel") return (x + 0.5) / axis.scale - 0.5;
  if (mode == "pytorch_half_pixel") return axis.to > 1 ? (x + 0.5) / axis.scale - 0.5 : 0.0;
  if (mode == "align_corners")
    return axis.to > 1 ? x * static_cast<double>(axis.from - 1) / static_cast<double>(axis.to - 1) : 0.0;
  if (mode == "asymmetric") return x / axis.scale;
  if (mode == "half_pixel_symmetric") {
    const double length = axis.scale * static_cast<double>(axis.from), middle = static_cast<double>(axis.from) / 2;
    return middle * (1 - static_cast<double>(axis.to) / length) + (x + 0.5) / axis.scale - 0.5;
  }
  if (mode == "tf_crop_and_resize") {
    const auto last = static_cast<double>(axis.from - 1);
    return axis.to > 1 ? axis.begin * last + x * (axis.end - axis.begin) * last / static_cast<double>(axis.to - 1)
                       : (axis.begin + axis.end) * last / 2;
  }
  return unknown_form("coordinate_transformation_mode " + mode);
}

Result<int64_t> nearest(const std::string& mode, double x) {
  if (mode == "round_prefer_floor") return whole(std::ceil(x - 0.5));
  if (mode == "round_prefer_ceil") return whole(std::floor(x + 0.5));
  if (mode == "floor") return whole(std::floor(x));
  if (mode == "ceil") return whole(std::ceil(x));
  return unknown_form("nearest_mode " + mode);
}

// The elements of the operand that one of the output is made of along a dimension, with their weights; none: it is the
// extrapolation value.
using Source = std::vector<std::pair<int64_t, double>>;

// Keys' cubic weights of the four elements around a place that is `t` behind the second.
std::array<double, 4> cubic_weights(double a, double t) {
  const auto near = [a](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  const auto far = [a](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  return {far(t + 1), near(t), near(1 - t), far(2 - t)};
}

Result<Source> source_of(const Call& call, const Axis& axis, const std::string& mode, double x) {
  const auto kept = [&](int64_t at) { return std::clamp<int64_t>(at, 0, axis.from - 1); };
  const int64_t below = whole(std::floor(x));
  if (mode == "linear") return Source{{kept(below), 1 - (x - std::floor(x))}, {kept(below + 1), x - std::floor(x)}};
  if (mode == "nearest") {
    COT_ASSIGN(const int64_t chosen, nearest(call.node.text("nearest_mode", "round_prefer_floor"), x));
    return Source{{kept(chosen), 1}};
  }
  const std::array<double, 4> weights =
      cubic_weights(static_cast<double>(call.node.real("cubic_coeff_a", -0.75f)), x - std::floor(x));
  const bool excludes = call.node.integer("exclude_outside", 0) != 0;
  Source source;
  double sum = 0;
  for (int64_t i = 0; i < 4; ++i) {
    const int64_t at = below - 1 + i;
    if (excludes && at != kept(at)) continue;
    source.push_back({kept(at), weights[static_cast<size_t>(i)]});
    sum += source.back().second;
  }
  for (auto& [at, weight] : source) weight /= sum;
  return source;
}

Result<std::vector<Source>> sources_of(const Call& call, const Axis& axis, const std::string& mode) {
  const std::string coordinates = call.node.text("coordinate_transformation_mode", "half_pixel");
  const bool crops = coordinates == "tf_crop_and_resize";
  std::vector<Source> sources;
  for (int64_t at = 0; at < axis.to; ++at) {
    // A dimension that keeps its size is left alone.
    double x = static_cast<double>(at);
    if (axis.scale != 1 || axis.from != axis.to || crops) {
      COT_ASSIGN(x, origin(coordinates, axis, at));
    }
    if (crops && (x < 0 || x > static_cast<double>(axis.from - 1))) {
      sources.emplace_back();
      continue;
    }
    COT_ASSIGN(Source source, source_of(call, axis, mode, x));
    sources.push_back(std::move(source));
  }
  return sources;
}

Result<std::vector<Axis>> axes_of_resize(const Call& call) {
  const Array& x = call.operand(0);
  if (call.node.integer("antialias", 0) != 0) return unknown_form("antialias");
  if (call.node.text("keep_aspect_ratio_policy", "stretch") != "stretch")
    return unknown_form("keep_aspect_ratio_policy");
  const bool has_scales = call.has(2) && call.operand(2).size() != 0;
  if (!has_scales && !call.has(3)) return bad_form("neither scales nor sizes");
  const Array& given = call.operand(has_scales ? 2 : 3);
  std::vector<int64_t> places = call.node.integers("axes");
  if (places.empty()) {
    places.resize(x.rank());
    std::iota(places.begin(), places.end(), 0);
  }
  if (given.values.size() != places.size()) return bad_form("not one scale or size a dimension");
  const bool crops = call.node.text("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize";
  if (crops && (!call.has(1) || call.operand(1).values.size() != 2 * places.size()))
    return bad_form("no region of interest to crop");
  std::vector<Axis> axes(x.rank());
  for (size_t i = 0; i < x.rank(); ++i) axes[i].from = axes[i].to = x.shape[i];
  for (size_t i = 0; i < places.size(); ++i) {
    COT_ASSIGN(const size_t place, axis_of(places[i], x.rank()));
    Axis& axis = axes[place];
    const double number = given.values[i];
    if (crops) {
      axis.begin = call.operand(1).values[i];
      axis.end = call.operand(1).values[i + places.size()];
      if (!std::isfinite(axis.begin) || !std::isfinite(axis.end)) return bad_form("a region that is no number");
    }
    if (!(number > 0 && number < 1e9) || axis.from < 1) return bad_form("a scale or size out of range");
    axis.to = has_scales ? whole(std::floor(static_cast<double>(axis.from) * number)) : whole(number);
    axis.scale = has_scales ? number : number / static_cast<double>(axis.from);
    // ONNX's text has the length rounded here, its tests and its reference have not.
    if (call.intent == Intent::specification && has_scales &&
        call.node.text("coordinate_transformation_mode", "half_pixel") == "align_corners" &&
        static_cast<double>(axis.to) != static_cast<double>(axis.from) * number) {
      return unknown_form("align_corners of a length that is rounded");
    }
  }
  return axes;
}

// Interpolates along one dimension after the other, which is the same as along all at once.
Result<Outputs> compute_resize(const Call& call) {
  const std::string mode = call.node.text("mode", "nearest");
  if (mode != "nearest" && mode != "linear" && mode != "cubic") return unknown_form("mode " + mode);
  COT_ASSIGN(const std::vector<Axis> axes, axes_of_resize(call));
  const auto outside = static_cast<double>(call.node.real("extrapolation_value", 0));
  const bool crops = call.node.text("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize";
  Array y = call.operand(0);
  for (size_t i = 0; i < axes.size(); ++i) {
    if (!crops && axes[i].from == axes[i].to && axes[i].scale == 1) continue;
    Shape shape = y.shape;
    shape[i] = axes[i].to;
    COT_ASSIGN(Array next, zeros_like(y, shape));
    COT_ASSIGN(const std::vector<Source> sources, sources_of(call, axes[i], mode));
    for_each_index(shape, [&](const Index& index, size_t to) {
      const Source& source = sources[static_cast<size_t>(index[i])];
      Index from = index;
      double sum = source.empty() ? outside : 0;
      for (const auto& [at, weight] : source) {
        from[i] = at;
        if (weight != 0) sum += weight * y.values[offset_of(y.shape, from)];
      }
      next.values[to] = sum;
    });
    y = std::move(next);
  }
  return one(std::move(y));
}

}  // namespace

Operator resize_operator(const std::string& op) { return op == "Resize" ? compute_resize : nullptr; }

}  // namespace coterie::model_import
