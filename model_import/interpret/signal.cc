// DFT, STFT, the windows that they are used with, and MelWeightMatrix.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "model_import/interpret/operator.h"

namespace coterie::model_import {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;
constexpr uint64_t kTermsMax = 1ull << 32;  // products of one transform; more are `too_large`
constexpr int64_t kWindowMax = 1 << 24;

Result<int64_t> number_of(const Call& call, size_t i, int64_t least, int64_t most) {
  if (!call.has(i) || call.operand(i).size() != 1)
    return bad_form("operand " + std::to_string(i) + " is not one number");
  const int64_t number = whole(call.operand(i).values[0]);
  if (number < least || number > most) return bad_form("operand " + std::to_string(i) + " is out of range");
  return number;
}

Result<Outputs> compute_window(const Call& call) {
  COT_ASSIGN(const int64_t size, number_of(call, 0, 1, kWindowMax));
  const int64_t type = call.node.integer("output_datatype", 1);
  if (type != 1 && type != 10 && type != 11 && type != 16)
    return unknown_form("output_datatype " + std::to_string(type));
  COT_ASSIGN(Array y, zeros(Element::real, {size}));
  const double period =
      static_cast<double>(call.node.integer("periodic", 1) != 0 ? size : std::max<int64_t>(1, size - 1));
  for (size_t i = 0; i < y.values.size(); ++i) {
    const double turn = kTurn * static_cast<double>(i) / period;
    y.values[i] = call.node.op == "HannWindow"      ? 0.5 - 0.5 * std::cos(turn)
                  : call.node.op == "HammingWindow" ? 25.0 / 46 - 21.0 / 46 * std::cos(turn)
                                                    : 0.42 - 0.5 * std::cos(turn) + 0.08 * std::cos(2 * turn);
  }
  return one(std::move(y));
}

struct Complex {
  double real = 0, imaginary = 0;
};

// sum over n of x[n] e^(sign 2 pi i k n / length); x beyond its end is 0.
Complex transformed(const std::vector<Complex>& x, int64_t k, int64_t length, double sign) {
  Complex sum;
  const int64_t count = std::min<int64_t>(length, static_cast<int64_t>(x.size()));
  for (int64_t n = 0; n < count; ++n) {
    const double angle = sign * kTurn * static_cast<double>(k * n % length) / static_cast<double>(length);
    const Complex& at = x[static_cast<size_t>(n)];
    sum.real += at.real * std::cos(angle) - at.imaginary * std::sin(angle);
    sum.imaginary += at.real * std::sin(angle) + at.imaginary * std::cos(angle);
  }
  return sum;
}

// [..., axis, ..., 1 or 2]: the last dimension is real and imaginary part. The axis became an operand in opset 20.
Result<Outputs> compute_dft(const Call& call) {
  const Array& x = call.operand(0);
  if (x.rank() < 2 || x.shape.back() < 1 || x.shape.back() > 2)
    return bad_form("an operand whose last dimension is not 1 or 2");
  int64_t given = call.opset < 20 ? call.node.integer("axis", 1) : -2;
  if (call.opset >= 20 && call.has(2)) {
    COT_ASSIGN(given, number_of(call, 2, -8, 8));
  }
  COT_ASSIGN(const size_t axis, axis_of(given, x.rank()));
  if (axis + 1 == x.rank()) return bad_form("the axis of real and imaginary parts");
  int64_t length = x.shape[axis];
  if (call.has(1)) {
    COT_ASSIGN(length, number_of(call, 1, 1, kWindowMax));
  }
  const bool is_inverse = call.node.integer("inverse", 0) != 0, is_onesided = call.node.integer("onesided", 0) != 0;
  if (is_inverse && is_onesided) return unknown_form("an inverse transform of one side");
  Shape shape = x.shape, lines = x.shape;
  shape.back() = 2;
  shape[axis] = is_onesided ? length / 2 + 1 : length;
  lines.back() = lines[axis] = 1;
  COT_ASSIGN(Array y, zeros_like(x, shape));
  if (static_cast<uint64_t>(y.size()) * static_cast<uint64_t>(x.shape[axis]) > kTermsMax)
    return Error(ErrorCode::too_large, "a transform of more than 2^32 products");
  const auto last = static_cast<int64_t>(x.shape.back());
  for_each_index(lines, [&](Index index, size_t) {
    std::vector<Complex> line;
    for (index[axis] = 0; index[axis] < x.shape[axis]; ++index[axis]) {
      const size_t at = offset_of(x.shape, index);
      line.push_back({x.values[at], last == 2 ? x.values[at + 1] : 0});
    }
    for (index[axis] = 0; index[axis] < shape[axis]; ++index[axis]) {
      const Complex sum = transformed(line, index[axis], length, is_inverse ? 1 : -1);
      const size_t to = offset_of(shape, index);
      const double scale = is_inverse ? 1 / static_cast<double>(length) : 1;
      y.values[to] = sum.real * scale;
      y.values[to + 1] = sum.imaginary * scale;
    }
  });
  return one(std::move(y));
}

// signal [batch, length, 1 or 2], frame_step, window, frame_length: [batch, frames, bins, 2]
Result<Outputs> compute_stft(const Call& call) {
  COT_TRY(needs_operands(call, 2));
  const Array& x = call.operand(0);
  if (x.rank() != 3 || x.shape[2] < 1 || x.shape[2] > 2)
    return bad_form("a signal that is not [batch, length, 1 or 2]");
  COT_ASSIGN(const int64_t step, number_of(call, 1, 1, kWindowMax));
  if (!call.has(2) && !call.has(3)) return bad_form("neither a window nor a frame_length");
  int64_t length = call.has(2) ? call.operand(2).size() : 0;
  if (call.has(3)) {
    COT_ASSIGN(length, number_of(call, 3, 1, kWindowMax));
  }
  if (length < 1 || length > x.shape[1] || (call.has(2) && call.operand(2).size() != length))
    return bad_form("a window that does not fit");
  const int64_t frames = (x.shape[1] - length) / step + 1;
  const int64_t bins = call.node.integer("onesided", 1) != 0 ? length / 2 + 1 : length;
  COT_ASSIGN(Array y, zeros_like(x, {x.shape[0], frames, bins, 2}));
  if (static_cast<uint64_t>(y.size()) * static_cast<uint64_t>(length) > kTermsMax)
    return Error(ErrorCode::too_large, "transforms of more than 2^32 products");
  for_each_index({x.shape[0], frames}, [&](const Index& index, size_t number) {
    std::vector<Complex> frame;
    for (int64_t n = 0; n < length; ++n) {
      const double weight = call.has(2) ? call.operand(2).values[static_cast<size_t>(n)] : 1;
      const size_t at = offset_of(x.shape, {index[0], index[1] * step + n, 0});
      frame.push_back({x.values[at] * weight, x.shape[2] == 2 ? x.values[at + 1] * weight : 0});
    }
    for (int64_t k = 0; k < bins; ++k) {
      const Complex sum = transformed(frame, k, length, -1);
      const size_t to = (number * static_cast<size_t>(bins) + static_cast<size_t>(k)) * 2;
      y.values[to] = sum.real;
      y.values[to + 1] = sum.imaginary;
    }
  });
  return one(std::move(y));
}

// num_mel_bins, dft_length, sample_rate, lower and upper edge in hertz: triangles between bins that are even in mels.
Result<Outputs> compute_mel_weights(const Call& call) {
  COT_TRY(needs_operands(call, 5));
  COT_ASSIGN(const int64_t mels, number_of(call, 0, 1, 1 << 14));
  COT_ASSIGN(const int64_t length, number_of(call, 1, 1, kWindowMax));
  COT_ASSIGN(const int64_t rate, number_of(call, 2, 1, 1 << 30));
  if (call.operand(3).size() != 1 || call.operand(4).size() != 1) return bad_form("an edge that is not one number");
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double low = mel(call.operand(3).values[0]), high = mel(call.operand(4).values[0]);
  const int64_t bins = length / 2 + 1;
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < mels + 2; ++i) {
    const double at = low + static_cast<double>(i) * (high - low) / static_cast<double>(mels + 2);
    const double hertz = 700 * (std::pow(10, at / 2595) - 1);
    edges.push_back(whole(std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate))));
    if (edges.back() < 0 || edges.back() > bins) return bad_form("an edge beyond the bins");
  }
  COT_ASSIGN(Array y, zeros(Element::real, {bins, mels}));
  const auto put = [&](int64_t bin, int64_t column, int64_t part, int64_t whole_part) {
    if (bin < bins)
      y.values[offset_of(y.shape, {bin, column})] = static_cast<double>(part) / static_cast<double>(whole_part);
  };
  for (int64_t i = 0; i < mels; ++i) {
    const auto at = static_cast<size_t>(i);
    const int64_t lower = edges[at], center = edges[at + 1], upper = edges[at + 2];
    if (center == lower) put(center, i, 1, 1);
    else
      for (int64_t j = lower; j <= center; ++j) put(j, i, j - lower, center - lower);
    for (int64_t j = center; j < upper; ++j) put(j, i, upper - j, upper - center);
  }
  return one(std::move(y));
}

}  // namespace

Operator signal_operator(const std::string& op) {
  if (op == "HannWindow" || op == "HammingWindow" || op == "BlackmanWindow") return compute_window;
  if (op == "DFT") return compute_dft;
  if (op == "STFT") return compute_stft;
  return op == "MelWeightMatrix" ? compute_mel_weights : nullptr;
}

}  // namespace coterie::model_import
