// Pools, of sequences, images and volumes.
#include <algorithm>
#include <cmath>
#include <limits>

#include "model_import/interpret/frame.h"

namespace coterie::model_import {
namespace {

// What one window holds.
struct Window {
  double largest = -std::numeric_limits<double>::infinity(), sum = 0, power = 0;
  int64_t place = 0;  // of the largest
  int64_t counted = 0;
};

struct Pool {
  Frames frames;
  bool counts_padding = false;
  double p = 2;

  Window of(const Index& at, const double* image) const {
    Window window;
    const auto is_inside = [&](size_t k, int64_t x) { return frames[k].is_inside(x); };
    // What ceil_mode adds beyond the padding is never counted.
    const auto is_padding = [&](size_t k, int64_t x) { return x < frames[k].size + frames[k].pad_after; };
    const Shape kernel{frames[0].kernel, frames[1].kernel, frames[2].kernel};
    for_each_index(kernel, [&](const Index& tap, size_t) {
      int64_t x[3];
      for (size_t k = 0; k < 3; ++k) x[k] = frames[k].position(at[k], tap[k]);
      if (is_inside(0, x[0]) && is_inside(1, x[1]) && is_inside(2, x[2])) {
        const int64_t place = (x[0] * frames[1].size + x[1]) * frames[2].size + x[2];
        const double value = image[place];
        if (window.counted == 0 || value > window.largest || std::isnan(value)) {
          window.largest = value;
          window.place = place;
        }
        window.sum += value;
        window.power += std::pow(std::fabs(value), p);
        ++window.counted;
      } else if (counts_padding && is_padding(0, x[0]) && is_padding(1, x[1]) && is_padding(2, x[2])) {
        ++window.counted;
      }
    });
    return window;
  }
};

// The place in the whole tensor, by rows or (storage_order 1) by columns.
int64_t index_of(const Window& window, const Frames& frames, bool by_columns) {
  if (!by_columns) return window.place;
  const int64_t w = window.place % frames[2].size, h = window.place / frames[2].size % frames[1].size;
  const int64_t d = window.place / frames[2].size / frames[1].size;
  return (w * frames[1].size + h) * frames[0].size + d;
}

Result<Outputs> compute_pool(const Call& call) {
  const Array& x = call.operand(0);
  COT_ASSIGN(Frames frames, frames_of(call, {}));
  const bool is_ceil = call.node.integer("ceil_mode", 0) != 0;
  Shape shape{x.shape[0], x.shape[1]};
  for (size_t i = 5 - x.rank(); i < 3; ++i) {
    COT_TRY(lay_windows(call, frames[i], is_ceil));
    shape.push_back(frames[i].count);
  }
  const std::string& op = call.node.op;
  const Pool pool{.frames = frames,
                  .counts_padding = op == "AveragePool" && call.node.integer("count_include_pad", 0) != 0,
                  .p = static_cast<double>(call.node.integer("p", 2))};
  // ONNX's text does not count what ceil_mode adds beyond the padding; with dilations its reference does.
  if (call.intent == Intent::specification && pool.counts_padding && is_ceil &&
      std::ranges::any_of(frames, [](const Frame& frame) { return frame.dilation > 1; })) {
    return unknown_form("ceil_mode that counts the padding of dilated windows");
  }
  const bool by_columns = call.node.integer("storage_order", 0) != 0;
  COT_ASSIGN(Array y, zeros_like(x, shape));
  COT_ASSIGN(Array indices, zeros(Element::integer, shape));
  const int64_t pixels = frames[0].size * frames[1].size * frames[2].size;
  size_t to = 0;
  for (int64_t plane = 0; plane < x.shape[0] * x.shape[1]; ++plane) {
    for_each_index({frames[0].count, frames[1].count, frames[2].count}, [&](const Index& at, size_t) {
      const Window window = pool.of(at, x.values.data() + plane * pixels);
      y.values[to] = op == "MaxPool"  ? window.largest
                     : op == "LpPool" ? std::pow(window.power, 1 / pool.p)
                                      : window.sum / static_cast<double>(window.counted);
      indices.values[to++] = static_cast<double>(plane * pixels + index_of(window, frames, by_columns));
    });
  }
  Outputs outputs = one(std::move(y));
  if (op == "MaxPool") outputs.push_back(std::move(indices));
  return outputs;
}

Result<Outputs> compute_global(const Call& call) {
  const Array& x = call.operand(0);
  if (x.rank() < 3) return bad_form("an operand without spatial dimensions");
  Shape shape(x.rank(), 1);
  shape[0] = x.shape[0];
  shape[1] = x.shape[1];
  COT_ASSIGN(Array y, zeros_like(x, shape));
  if (y.values.empty() || x.values.empty()) return bad_form("an operand without elements");
  const size_t pixels = x.values.size() / y.values.size();
  const auto p = static_cast<double>(call.node.integer("p", 2));
  for (size_t plane = 0; plane < y.values.size(); ++plane) {
    const auto first = x.values.begin() + static_cast<std::ptrdiff_t>(plane * pixels);
    const auto last = first + static_cast<std::ptrdiff_t>(pixels);
    double sum = 0, power = 0;
    for (auto it = first; it != last; ++it) {
      sum += *it;
      power += std::pow(std::fabs(*it), p);
    }
    y.values[plane] = call.node.op == "GlobalMaxPool"  ? *std::max_element(first, last)
                      : call.node.op == "GlobalLpPool" ? std::pow(power, 1 / p)
                                                       : sum / static_cast<double>(pixels);
  }
  return one(std::move(y));
}

}  // namespace

Operator pool_operator(const std::string& op) {
  if (op == "MaxPool" || op == "AveragePool" || op == "LpPool") return compute_pool;
  return op == "GlobalMaxPool" || op == "GlobalAveragePool" || op == "GlobalLpPool" ? compute_global : nullptr;
}

}  // namespace coterie::model_import
