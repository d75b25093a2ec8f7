// Norms.
#include <cmath>

#include "model_import/interpret/operator.h"

namespace coterie::model_import {
namespace {

double epsilon_of(const Call& call) { return static_cast<double>(call.node.real("epsilon", 1e-5f)); }

// Elements of one channel of one example; operand 0 is [batch, channels, ...].
struct Planes {
  size_t channels = 1, pixels = 1;
};

Result<Planes> planes_of(const Call& call, size_t operands) {
  COT_TRY(needs_operands(call, operands));
  const Array& x = call.operand(0);
  if (x.rank() < 2 || x.values.empty()) return bad_form("an operand that is not [batch, channels, ...]");
  const auto channels = static_cast<size_t>(x.shape[1]);
  for (size_t i = 1; i < operands; ++i) {
    if (call.operand(i).values.size() != channels) return bad_form("an operand that has not one number a channel");
  }
  return Planes{channels, x.values.size() / channels / static_cast<size_t>(x.shape[0])};
}

// Mean and variance of `count` elements from `first` on.
struct Moments {
  double mean = 0, variance = 0;
};

Moments moments_of(const Array& x, size_t first, size_t count) {
  Moments moments;
  for (size_t i = first; i < first + count; ++i) moments.mean += x.values[i] / static_cast<double>(count);
  for (size_t i = first; i < first + count; ++i) {
    const double apart = x.values[i] - moments.mean;
    moments.variance += apart * apart / static_cast<double>(count);
  }
  return moments;
}

// Moments of the batch in place of the running ones, which move towards them by 1 - momentum.
Result<Outputs> compute_batch_norm_training(const Call& call, const Planes& planes) {
  const Array& x = call.operand(0);
  Array mean = call.operand(3), variance = call.operand(4), y = x;
  const size_t batch = static_cast<size_t>(x.shape[0]);
  const auto momentum = static_cast<double>(call.node.real("momentum", 0.9f));
  for (size_t c = 0; c < planes.channels; ++c) {
    Array channel;
    for (size_t b = 0; b < batch; ++b) {
      const auto first = x.values.begin() + static_cast<std::ptrdiff_t>((b * planes.channels + c) * planes.pixels);
      channel.values.insert(channel.values.end(), first, first + static_cast<std::ptrdiff_t>(planes.pixels));
    }
    const Moments moments = moments_of(channel, 0, channel.values.size());
    for (size_t i = 0; i < channel.values.size(); ++i) {
      const double apart = (channel.values[i] - moments.mean) / std::sqrt(moments.variance + epsilon_of(call));
      y.values[(i / planes.pixels * planes.channels + c) * planes.pixels + i % planes.pixels] =
          apart * call.operand(1).values[c] + call.operand(2).values[c];
    }
    mean.values[c] = mean.values[c] * momentum + moments.mean * (1 - momentum);
    variance.values[c] = variance.values[c] * momentum + moments.variance * (1 - momentum);
  }
  Outputs outputs = one(std::move(y));
  outputs.push_back(std::move(mean));
  outputs.push_back(std::move(variance));
  return outputs;
}

// (x - mean) / sqrt(variance + epsilon) scale + bias: x, scale, bias, mean, variance
Result<Outputs> compute_batch_norm(const Call& call) {
  COT_ASSIGN(const Planes planes, planes_of(call, 5));
  if (call.intent == Intent::specification && call.node.integer("training_mode", 0) != 0)
    return compute_batch_norm_training(call, planes);
  Array y = call.operand(0);
  for (size_t i = 0; i < y.values.size(); ++i) {
    const size_t c = i / planes.pixels % planes.channels;
    const auto of_channel = [&](size_t operand) { return call.operand(operand).values[c]; };
    y.values[i] =
        (y.values[i] - of_channel(3)) / std::sqrt(of_channel(4) + epsilon_of(call)) * of_channel(1) + of_channel(2);
  }
  return one(std::move(y));
}

// Each channel of each example by itself: x, scale, bias
Result<Outputs> compute_instance_norm(const Call& call) {
  COT_ASSIGN(const Planes planes, planes_of(call, 3));
  const Array& x = call.operand(0);
  Array y = x;
  for (size_t first = 0; first < x.values.size(); first += planes.pixels) {
    const Moments moments = moments_of(x, first, planes.pixels);
    const size_t c = first / planes.pixels % planes.channels;
    for (size_t i = first; i < first + planes.pixels; ++i) {
      y.values[i] =
          call.operand(1).values[c] * (x.values[i] - moments.mean) / std::sqrt(moments.variance + epsilon_of(call)) +
          call.operand(2).values[c];
    }
  }
  return one(std::move(y));
}

// The channels of a group together: x, scale, bias, which opset 18 has by group, and opset 21 by channel.
Result<Outputs> compute_group_norm(const Call& call) {
  COT_TRY(needs_operands(call, 3));
  const Array& x = call.operand(0);
  if (x.rank() < 2 || x.values.empty()) return bad_form("an operand that is not [batch, channels, ...]");
  const int64_t groups = call.node.integer("num_groups", 0);
  if (groups < 1 || x.shape[1] % groups != 0) return bad_form("groups that do not divide the channels");
  const int64_t parts = call.opset >= 21 ? x.shape[1] : groups;  // that have a scale and a bias
  for (const size_t i : {1u, 2u}) {
    if (call.operand(i).size() != parts) return bad_form("a scale or bias of another size");
  }
  Array y = x;
  const size_t size = x.values.size() / static_cast<size_t>(x.shape[0] * groups);
  for (size_t first = 0; first < x.values.size(); first += size) {
    const Moments moments = moments_of(x, first, size);
    for (size_t i = first; i < first + size; ++i) {
      const size_t part =
          i / (size * static_cast<size_t>(groups) / static_cast<size_t>(parts)) % static_cast<size_t>(parts);
      y.values[i] =
          call.operand(1).values[part] * (x.values[i] - moments.mean) / std::sqrt(moments.variance + epsilon_of(call)) +
          call.operand(2).values[part];
    }
  }
  return one(std::move(y));
}

// Over all dimensions from `axis` on: x, scale, bias (which may be absent); also the means and 1 / deviations.
Result<Outputs> compute_layer_norm(const Call& call) {
  COT_TRY(needs_operands(call, 2));
  const Array& x = call.operand(0);
  COT_ASSIGN(const size_t axis, axis_of(call.node.integer("axis", -1), x.rank()));
  for (const size_t i : {1u, 2u}) {
    if (!call.has(i)) continue;
    COT_ASSIGN(const Shape shape, broadcast_shape(x.shape, call.operand(i).shape));
    if (shape != x.shape) return bad_form("a scale or bias that does not broadcast to the operand");
  }
  Shape kept = x.shape;
  size_t width = 1;
  for (size_t i = axis; i < x.rank(); ++i) {
    width *= static_cast<size_t>(x.shape[i]);
    kept[i] = 1;
  }
  if (x.values.empty()) return bad_form("an operand without elements");
  COT_ASSIGN(Array means, zeros(Element::real, kept));
  Array inverses = means, y = x;
  for (size_t row = 0; row < means.values.size(); ++row) {
    const Moments moments = moments_of(x, row * width, width);
    means.values[row] = moments.mean;
    inverses.values[row] = 1 / std::sqrt(moments.variance + epsilon_of(call));
  }
  for_each_index(x.shape, [&](const Index& index, size_t i) {
    const auto factor = [&](size_t operand) {
      return call.operand(operand).values[broadcast_offset(call.operand(operand).shape, index)];
    };
    y.values[i] = (x.values[i] - means.values[i / width]) * inverses.values[i / width] * factor(1) +
                  (call.has(2) ? factor(2) : 0);
  });
  Outputs outputs = one(std::move(y));
  outputs.push_back(std::move(means));
  outputs.push_back(std::move(inverses));
  return outputs;
}

}  // namespace

Operator norm_operator(const std::string& op) {
  if (op == "BatchNormalization") return compute_batch_norm;
  if (op == "InstanceNormalization") return compute_instance_norm;
  if (op == "GroupNormalization") return compute_group_norm;
  return op == "LayerNormalization" ? compute_layer_norm : nullptr;
}

}  // namespace coterie::model_import
