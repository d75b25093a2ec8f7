// Pools, of images and sequences.
#include <algorithm>
#include <cmath>
#include <limits>

#include "model_import/interpret/frame.h"

namespace coterie::model_import {
namespace {

// What one window gives: the largest element, or the mean of those that count.
double pooled(const Frames& frames, int64_t oh, int64_t ow, const double* image, bool is_max, bool counts_padding) {
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  int64_t counted = 0;
  for (int64_t kh = 0; kh < frames[0].kernel; ++kh) {
    for (int64_t kw = 0; kw < frames[1].kernel; ++kw) {
      const int64_t h = frames[0].position(oh, kh), w = frames[1].position(ow, kw);
      if (frames[0].is_inside(h) && frames[1].is_inside(w)) {
        const double x = image[h * frames[1].size + w];
        if (x > largest || std::isnan(x)) largest = x;
        sum += x;
        ++counted;
      } else if (counts_padding && h < frames[0].size + frames[0].pad_after &&
                 w < frames[1].size + frames[1].pad_after) {
        ++counted;  // what ceil_mode adds beyond the padding is never counted
      }
    }
  }
  return is_max ? largest : sum / static_cast<double>(counted);
}

// The indices of MaxPool are not computed.
Result<Outputs> compute_pool(const Call& call) {
  const Array& x = call.operand(0);
  COT_ASSIGN(Frames frames, frames_of(call, {}));
  const bool is_ceil = call.node.integer("ceil_mode", 0) != 0;
  Shape shape{x.shape[0], x.shape[1]};
  for (size_t i = 4 - x.rank(); i < 2; ++i) {
    COT_TRY(lay_windows(call, frames[i], is_ceil));
    shape.push_back(frames[i].count);
  }
  COT_ASSIGN(Array y, zeros(x.element, shape));
  const bool is_max = call.node.op == "MaxPool", counts_padding = call.node.integer("count_include_pad", 0) != 0;
  const int64_t pixels = frames[0].size * frames[1].size;
  double* to = y.values.data();
  for (int64_t plane = 0; plane < x.shape[0] * x.shape[1]; ++plane) {
    for (int64_t oh = 0; oh < frames[0].count; ++oh) {
      for (int64_t ow = 0; ow < frames[1].count; ++ow)
        *to++ = pooled(frames, oh, ow, x.values.data() + plane * pixels, is_max, counts_padding);
    }
  }
  return one(std::move(y));
}

Result<Outputs> compute_global(const Call& call) {
  const Array& x = call.operand(0);
  if (x.rank() < 3) return bad_form("an operand without spatial dimensions");
  Shape shape(x.rank(), 1);
  shape[0] = x.shape[0];
  shape[1] = x.shape[1];
  COT_ASSIGN(Array y, zeros(x.element, shape));
  if (y.values.empty() || x.values.empty()) return bad_form("an operand without elements");
  const size_t pixels = x.values.size() / y.values.size();
  for (size_t plane = 0; plane < y.values.size(); ++plane) {
    const auto first = x.values.begin() + static_cast<std::ptrdiff_t>(plane * pixels);
    const auto last = first + static_cast<std::ptrdiff_t>(pixels);
    double sum = 0;
    for (auto it = first; it != last; ++it) sum += *it;
    y.values[plane] =
        call.node.op == "GlobalMaxPool" ? *std::max_element(first, last) : sum / static_cast<double>(pixels);
  }
  return one(std::move(y));
}

}  // namespace

Operator pool_operator(const std::string& op) {
  if (op == "MaxPool" || op == "AveragePool") return compute_pool;
  return op == "GlobalMaxPool" || op == "GlobalAveragePool" ? compute_global : nullptr;
}

}  // namespace coterie::model_import
