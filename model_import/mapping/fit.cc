#include "model_import/mapping/fit.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/assert.h"
#include "model_import/graph/order.h"

namespace coterie::model_import {
namespace {

Shape without_ones(const Shape& shape) {
  Shape rest;
  std::ranges::copy_if(shape, std::back_inserter(rest), [](int64_t size) { return size != 1; });
  return rest;
}

int64_t gates_of(OpKind op) { return op == OpKind::lstm ? 4 : op == OpKind::gru ? 3 : 1; }

// Which gate of the source is gate k.
std::vector<size_t> gate_sources(OpKind op, GateOrder order) {
  if (op == OpKind::gru && order != GateOrder::same) return {1, 0, 2};
  if (op == OpKind::lstm && order == GateOrder::onnx) return {0, 2, 3, 1};
  std::vector<size_t> same(static_cast<size_t>(gates_of(op)));
  std::iota(same.begin(), same.end(), size_t{0});
  return same;
}

// As it is, or with dimensions of size 1 more or fewer.
std::optional<Fit> plain_fit(const Shape& to, const Shape& from, WeightLayout layout) {
  if (to == from) return Fit{.rule = "as it is", .layout = layout};
  if (without_ones(to) == without_ones(from)) return Fit{.rule = "reshaped", .layout = layout};
  return std::nullopt;
}

std::optional<Fit> moved_fit(const Shape& to, const Shape& from, Order order, std::string rule, WeightLayout layout) {
  if (from.size() != order.size() || permuted(from, order) != to) return std::nullopt;
  return Fit{.rule = std::move(rule), .layout = layout, .order = std::move(order), .seen_as = from};
}

void add(std::vector<Fit>& found, std::optional<Fit> fit) {
  if (fit) found.push_back(std::move(*fit));
}

std::vector<Fit> linear_fits(const Slot& slot, const Shape& from) {
  std::vector<Fit> found;
  if (slot.shape.size() != 2) return found;
  add(found, plain_fit(slot.shape, from, WeightLayout::in_first));
  // A 1x1 convolution of PyTorch that became a linear layer: [out, in, 1, 1].
  const Shape flat = from.size() > 2 ? without_ones(from) : from;
  std::optional<Fit> fit = moved_fit(slot.shape, flat, {1, 0}, "transposed", WeightLayout::out_first);
  if (fit && !slot.flattened.empty()) {
    fit->moves_rows = true;
    fit->rule = "transposed, rows to channels last";
  }
  add(found, std::move(fit));
  return found;
}

std::vector<Fit> convolution_fits(const Slot& slot, Shape from) {
  std::vector<Fit> found;
  if (slot.shape.size() != 4) return found;
  if (from == slot.shape) add(found, plain_fit(slot.shape, from, WeightLayout::in_first));
  // A convolution of sequences is one of images that are one row or one column: [out, in, length].
  if (from.size() == 3) from.insert(slot.shape[0] == 1 ? from.end() - 1 : from.end(), 1);
  add(found, moved_fit(slot.shape, from, {2, 3, 1, 0}, "to channels last", WeightLayout::out_first));
  return found;
}

std::vector<Fit> recurrent_fits(const Slot& slot, Shape from, bool is_kernel) {
  std::vector<Fit> found;
  const GateOrder keras = is_kernel && slot.op == OpKind::gru ? GateOrder::keras : GateOrder::same;
  if (from == slot.shape) {
    found.push_back({.rule = keras == GateOrder::keras ? "gates z r h" : "as it is",
                     .layout = WeightLayout::in_first,
                     .gates = keras});
  }
  // ONNX has one more dimension, the direction.
  const bool is_onnx = from.size() == 3 && from[0] == 1;
  if (is_onnx) from.erase(from.begin());
  std::optional<Fit> fit = moved_fit(slot.shape, from, {1, 0}, "transposed", WeightLayout::out_first);
  if (fit && is_onnx && slot.op != OpKind::rnn) {
    fit->gates = GateOrder::onnx;
    fit->rule = slot.op == OpKind::gru ? "transposed, gates z r h" : "transposed, gates i o f c";
  }
  add(found, std::move(fit));
  return found;
}

std::vector<Fit> bias_fits(const Slot& slot, const Offer& offer, bool is_kernel) {
  const auto count = static_cast<int64_t>(elements(offer.shape));
  const bool is_gru = slot.op == OpKind::gru;
  const int64_t half = is_gru ? slot.shape[0] / 2 : slot.shape[0];
  if (offer.parts == 2) {
    if (offer.shape != Shape{half}) return {};
    return {{.rule = is_gru ? "both biases" : "sum of both biases"}};
  }
  if (offer.shape == slot.shape && !is_gru) return {{.rule = "as it is"}};
  if (count != 2 * half) return {};
  // One tensor with both halves: ONNX's [1, 2 gates hidden], or Keras's [2, gates hidden].
  const bool is_keras = offer.shape.size() == 2 && offer.shape[0] == 2;
  const bool is_onnx = offer.shape.size() == 2 && offer.shape[0] == 1;
  if (!is_keras && !is_onnx && !(is_gru && offer.shape.size() == 1)) return {};
  const bool is_other = is_onnx || (is_keras && is_gru) || (is_kernel && is_gru);
  return {{.rule = is_gru ? (is_other ? "gates z r h" : "as it is") : "sum of both halves",
           .gates = is_onnx    ? GateOrder::onnx
                    : is_other ? GateOrder::keras
                               : GateOrder::same}};
}

// One bias of two: PyTorch's bias_ih or bias_hh, or a row of Keras's [2, gates hidden] or half of ONNX's [1, 2 gates
// hidden].
std::vector<Fit> half_fits(const Slot& slot, const Offer& offer) {
  const int64_t size = slot.shape[0];
  if (offer.half == 0) return offer.shape == slot.shape ? std::vector<Fit>{{.rule = "as it is"}} : std::vector<Fit>{};
  const bool is_onnx = offer.shape == Shape{1, 2 * size};
  if (!is_onnx && offer.shape != Shape{2, size}) return {};
  const bool is_other = is_onnx ? slot.op != OpKind::rnn : slot.op == OpKind::gru;
  return {{.rule = std::string(offer.half == 1 ? "first" : "second") + " half" +
                   (!is_other                ? ""
                    : slot.op == OpKind::gru ? ", gates z r h"
                                             : ", gates i o f c"),
           .gates = is_onnx    ? GateOrder::onnx
                    : is_other ? GateOrder::keras
                               : GateOrder::same}};
}

// Blocks of `width` elements, gate by gate.
std::vector<float> reordered(std::span<const float> values, size_t width, const std::vector<size_t>& sources) {
  std::vector<float> result;
  const size_t row = width * sources.size();
  for (size_t at = 0; at + row <= values.size(); at += row) {
    for (const size_t gate : sources) {
      const auto from = values.subspan(at + gate * width, width);
      result.insert(result.end(), from.begin(), from.end());
    }
  }
  return result;
}

std::vector<float> bias_of(const Slot& slot, const Fit& fit, std::vector<std::vector<float>> parts) {
  std::vector<float> all;
  for (const std::vector<float>& part : parts) all.insert(all.end(), part.begin(), part.end());
  const size_t halves = slot.op == OpKind::gru ? slot.count : 2 * slot.count;
  const size_t width = halves / 2 / static_cast<size_t>(gates_of(slot.op));
  if (fit.gates != GateOrder::same) all = reordered(all, width, gate_sources(slot.op, fit.gates));
  if (slot.op == OpKind::gru || all.size() == slot.count) return all;
  // They always occur as a sum.
  std::vector<float> sum(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(slot.count));
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += all[slot.count + i];
  return sum;
}

// Row (y, x, c) of the model is row (c, y, x) of a framework that flattens channels first.
std::vector<float> rows_moved(const Slot& slot, const std::vector<float>& values) {
  const auto height = static_cast<size_t>(slot.flattened[0]), width = static_cast<size_t>(slot.flattened[1]),
             channels = static_cast<size_t>(slot.flattened[2]), columns = static_cast<size_t>(slot.shape[1]);
  std::vector<float> result(values.size());
  for (size_t row = 0; row < height * width * channels; ++row) {
    const size_t channel = row % channels, place = row / channels;
    const size_t from = channel * height * width + place;
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(from * columns), columns,
                result.begin() + static_cast<std::ptrdiff_t>(row * columns));
  }
  return result;
}

}  // namespace

std::vector<Fit> fits(const Slot& slot, const Offer& offer, bool is_kernel) {
  if (slot.kind == SlotKind::recurrent_bias) return bias_fits(slot, offer, is_kernel);
  if (offer.parts != 1) return {};
  if (slot.kind == SlotKind::recurrent_half) return half_fits(slot, offer);
  if (offer.half != 0) return {};
  switch (slot.kind) {
    case SlotKind::linear: return linear_fits(slot, offer.shape);
    case SlotKind::convolution:
    case SlotKind::transposed_convolution: return convolution_fits(slot, offer.shape);
    case SlotKind::recurrent_weight: return recurrent_fits(slot, offer.shape, is_kernel);
    default: break;
  }
  std::vector<Fit> found;
  const Shape to = without_ones(slot.shape), from = without_ones(offer.shape);
  add(found, plain_fit(slot.shape, offer.shape, to.size() == 3 ? WeightLayout::in_first : WeightLayout::any));
  // An image among the parameters: [channels, height, width] there, channels last here.
  if (to.size() == 3) {
    add(found, moved_fit(to, from, {1, 2, 0}, "to channels last", WeightLayout::out_first));
  }
  return found;
}

std::vector<float> fitted(const Slot& slot, const Fit& fit, std::vector<std::vector<float>> parts, size_t half) {
  COT_ASSERT(!parts.empty());
  if (slot.kind == SlotKind::recurrent_bias) return bias_of(slot, fit, std::move(parts));
  std::vector<float> values = std::move(parts[0]);
  if (half != 0) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    values = half == 1 ? std::vector<float>(values.begin(), middle) : std::vector<float>(middle, values.end());
  }
  if (!fit.order.empty()) values = permuted_elements(values, fit.seen_as, fit.order);
  if (fit.moves_rows) values = rows_moved(slot, values);
  if (fit.gates != GateOrder::same) {
    const size_t width = static_cast<size_t>(slot.shape.back() / gates_of(slot.op));
    values = reordered(values, width, gate_sources(slot.op, fit.gates));
  }
  COT_ASSERT(values.size() == slot.count);
  return values;
}

}  // namespace coterie::model_import
