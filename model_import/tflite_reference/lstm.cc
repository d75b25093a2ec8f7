#include "model_import/tflite_reference/lstm.h"

#include <array>
#include <cmath>

namespace coterie::model_import {
namespace {

// input, forget, cell, output: where the format has their tables.
struct Gate {
  std::vector<double> from_input, from_state, bias;
};

}  // namespace

Result<std::vector<double>> lstm(const KernelCall& call) {
  const Shape& x = call.tensor(0).shape;
  for (const size_t i : {9u, 10u, 11u, 16u, 17u, 20u, 21u, 22u, 23u}) {
    if (call.has(i)) return bad_form("peepholes, projections and norms are not computed");
  }
  if (x.size() != 3 || !call.has(5) || call.tensor(5).shape.size() != 2) return bad_form("a sequence of another rank");
  const bool is_time_major = call.op.options.is_time_major;
  const auto length = static_cast<size_t>(x[is_time_major ? 0 : 1]),
             batch = static_cast<size_t>(x[is_time_major ? 1 : 0]);
  const auto inputs = static_cast<size_t>(x[2]), hidden = static_cast<size_t>(call.tensor(5).shape[0]);
  if (call.output().shape != Shape{x[0], x[1], call.tensor(5).shape[0]}) {
    return bad_form("an output of another shape than it computes");
  }
  std::array<Gate, 4> gates;
  for (size_t g = 0; g < 4; ++g) {
    if (!call.has(1 + g) || !call.has(5 + g) || !call.has(12 + g)) return bad_form("coupled gates are not computed");
    gates[g] = {call.reals(1 + g), call.reals(5 + g), call.reals(12 + g)};
    if (gates[g].from_input.size() != hidden * inputs || gates[g].from_state.size() != hidden * hidden ||
        gates[g].bias.size() != hidden) {
      return bad_form("gates of several sizes");
    }
  }
  const std::vector<double> in = call.reals(0);
  std::vector<double> y(length * batch * hidden), state(batch * hidden), cell(batch * hidden);
  for (size_t t = 0; t < length; ++t) {
    const std::vector<double> before = state;
    for (size_t n = 0; n < batch; ++n) {
      const size_t at = is_time_major ? t * batch + n : n * length + t;
      for (size_t h = 0; h < hidden; ++h) {
        std::array<double, 4> sums{};
        for (size_t g = 0; g < 4; ++g) {
          sums[g] = gates[g].bias[h];
          for (size_t i = 0; i < inputs; ++i) sums[g] += gates[g].from_input[h * inputs + i] * in[at * inputs + i];
          for (size_t i = 0; i < hidden; ++i) sums[g] += gates[g].from_state[h * hidden + i] * before[n * hidden + i];
        }
        const auto opened = [](double sum) { return 1 / (1 + std::exp(-sum)); };
        double& c = cell[n * hidden + h];
        c = opened(sums[1]) * c + opened(sums[0]) * std::tanh(sums[2]);
        state[n * hidden + h] = y[at * hidden + h] = opened(sums[3]) * std::tanh(c);
      }
    }
  }
  return y;
}

}  // namespace coterie::model_import
