// RoiAlign: regions of a feature map as grids of one size (He et al., "Mask R-CNN", ICCV 2017, section 3).
#include <algorithm>
#include <cmath>

#include "model_import/interpret/operator.h"

namespace coterie::model_import {
namespace {

constexpr int64_t kGridMax = 1 << 12;  // of an output, and of samples in one of its cells

// One dimension of a region: where it begins, how long a cell is, how many samples a cell has.
struct Span {
  double begin = 0, cell = 0;
  int64_t samples = 1;

  double place(int64_t at, int64_t sample) const {
    return begin + static_cast<double>(at) * cell +
           (static_cast<double>(sample) + 0.5) * cell / static_cast<double>(samples);
  }
};

// The two positions of a dimension that a place lies between, and how near it is to the second; none: it is outside.
struct Between {
  int64_t low = 0, high = 0;
  double share = 0;
  bool is_outside = false;
};

Between between(double place, int64_t size) {
  const auto length = static_cast<double>(size);
  if (!(place >= -1 && place <= length)) return {.is_outside = true};
  const double kept = std::max(place, 0.0);
  const int64_t low = std::min(whole(std::floor(kept)), size - 1);
  if (low >= size - 1) return {.low = size - 1, .high = size - 1, .share = 0};
  return {.low = low, .high = low + 1, .share = kept - static_cast<double>(low)};
}

Result<Span> span_of(const Call& call, double first, double last, int64_t cells) {
  const bool is_half_pixel =
      call.opset >= 16 && call.node.text("coordinate_transformation_mode", "half_pixel") == "half_pixel";
  const auto scale = static_cast<double>(call.node.real("spatial_scale", 1));
  const double offset = is_half_pixel ? 0.5 : 0;
  double length = (last - first) * scale;
  if (!is_half_pixel) length = std::max(length, 1.0);
  Span span{.begin = first * scale - offset, .cell = length / static_cast<double>(cells)};
  const int64_t given = call.node.integer("sampling_ratio", 0);
  span.samples = given > 0 ? given : whole(std::ceil(span.cell));
  if (!std::isfinite(span.begin) || !std::isfinite(span.cell) || span.samples > kGridMax)
    return bad_form("a region out of range");
  return span;
}

// x [batch, channels, height, width], regions [n, 4] as left, top, right, bottom, the image of each [n].
Result<Outputs> compute_roi_align(const Call& call) {
  COT_TRY(needs_operands(call, 3));
  const Array &x = call.operand(0), &regions = call.operand(1), &images = call.operand(2);
  const bool fits = x.rank() == 4 && regions.rank() == 2 && regions.shape[1] == 4 && images.rank() == 1 &&
                    images.shape[0] == regions.shape[0];
  if (!fits) return bad_form("images and regions that do not fit");
  if (call.node.text("mode", "avg") != "avg") return unknown_form("mode max");  // ONNX's text and its tests differ
  const int64_t height = call.node.integer("output_height", 1), width = call.node.integer("output_width", 1);
  if (std::min(height, width) < 1 || std::max(height, width) > kGridMax || x.shape[2] < 1 || x.shape[3] < 1)
    return bad_form("a size out of range");
  COT_ASSIGN(Array y, zeros_like(x, {regions.shape[0], x.shape[1], height, width}));
  for (int64_t region = 0; region < regions.shape[0]; ++region) {
    const double* corners = regions.values.data() + region * 4;
    const int64_t image = whole(images.values[static_cast<size_t>(region)]);
    if (image < 0 || image >= x.shape[0]) return bad_form("a region of an image that is not there");
    COT_ASSIGN(const Span across, span_of(call, corners[0], corners[2], width));
    COT_ASSIGN(const Span down, span_of(call, corners[1], corners[3], height));
    const int64_t samples = std::max<int64_t>(across.samples, 0) * std::max<int64_t>(down.samples, 0);
    COT_TRY(charge_elements(call, static_cast<uint64_t>(x.shape[1] * height * width * samples)));
    for_each_index({x.shape[1], height, width}, [&](const Index& index, size_t) {
      double sum = 0;
      const auto at = [&](int64_t row, int64_t column) {
        return x.values[offset_of(x.shape, {image, index[0], row, column})];
      };
      for (int64_t i = 0; i < down.samples; ++i) {
        const Between row = between(down.place(index[1], i), x.shape[2]);
        for (int64_t k = 0; k < across.samples; ++k) {
          const Between column = between(across.place(index[2], k), x.shape[3]);
          if (row.is_outside || column.is_outside) continue;
          sum += (1 - row.share) *
                     ((1 - column.share) * at(row.low, column.low) + column.share * at(row.low, column.high)) +
                 row.share * ((1 - column.share) * at(row.high, column.low) + column.share * at(row.high, column.high));
        }
      }
      y.values[offset_of(y.shape, {region, index[0], index[1], index[2]})] =
          samples == 0 ? 0 : sum / static_cast<double>(samples);
    });
  }
  return one(std::move(y));
}

}  // namespace

Operator roi_operator(const std::string& op) { return op == "RoiAlign" ? compute_roi_align : nullptr; }

}  // namespace coterie::model_import
