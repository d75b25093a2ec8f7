// Batch norms that become part of the layer in front, and activations that are applied as a product is stored.
#include "device_sdk/runtime/ops/folded_norm.h"

#include <gtest/gtest.h>

#include "device_sdk/runtime/predictor.h"
#include "tests/unit/device_sdk/runtime/gradient_of.h"
#include "tests/unit/train_kernels/convolution_bound.h"

namespace coterie::test {
namespace {

using kernels::Activation;
using kernels::test::ConvolutionBound;
using kernels::test::Doubles;
using kernels::test::gamma;

// A layer of `inputs` channels, with a bias or none, and its norm; statistics and scales of both signs and several
// magnitudes.
struct Net {
  OpKind kind = OpKind::conv2d;
  int64_t channels = 4, filters = 6, groups = 1, kernel = 3, size = 5;
  bool has_bias = true;
  uint32_t stride = 1;

  Shape weight_shape() const {
    if (kind == OpKind::dense) return {channels, filters};
    if (kind == OpKind::conv2d) return {kernel, kernel, channels / groups, filters};
    return {kernel, kernel, filters / groups, channels};
  }
  size_t examples() const { return 3; }
  Shape input_shape() const { return kind == OpKind::dense ? Shape{channels} : Shape{size, size, channels}; }

  TensorId layer(ModelBuilder& build, TensorId x) const {
    const auto count = static_cast<size_t>(filters);
    std::vector<TensorId> inputs = {
        x, build.parameter("weight", weight_shape(), random_values(elements(weight_shape()), 11))};
    if (has_bias) inputs.push_back(build.parameter("bias", {filters}, random_values(count, 12)));
    if (kind == OpKind::dense) return build.op(kind, inputs);
    Conv2dAttributes a;
    a.stride_h = a.stride_w = stride;
    a.pad_top = a.pad_left = a.pad_bottom = a.pad_right = static_cast<uint32_t>(kernel / 2);
    a.groups = static_cast<uint32_t>(groups);
    return build.op(kind, inputs, a);
  }
  TensorId norm(ModelBuilder& build, TensorId x) const {
    const auto count = static_cast<size_t>(filters);
    return build.op(OpKind::batch_norm,
                    {x, build.parameter("scale", {filters}, random_values(count, 13, -2, 2)),
                     build.parameter("shift", {filters}, random_values(count, 14)),
                     build.state("mean", {filters}, random_values(count, 15, -3, 3)),
                     build.state("variance", {filters}, random_values(count, 16, 0.25, 4))},
                    NormAttributes{.is_frozen = true});
  }
};

const Net kNets[] = {
    {.kind = OpKind::dense, .channels = 7, .filters = 5},
    {.kind = OpKind::dense, .channels = 33, .filters = 17, .has_bias = false},
    {},
    {.has_bias = false, .stride = 2},
    {.channels = 6, .filters = 9, .groups = 3},
    {.channels = 8, .filters = 8, .groups = 8},
    {.channels = 5, .filters = 12, .kernel = 1, .has_bias = false},
    {.channels = 32, .filters = 32, .size = 12, .has_bias = false},  // Winograd's
    {.kind = OpKind::conv_transpose2d, .channels = 4, .filters = 6},
    {.kind = OpKind::conv_transpose2d, .channels = 6, .filters = 9, .groups = 3, .has_bias = false},
};

size_t size_of(int64_t dimension) { return static_cast<size_t>(dimension); }

// The shape of a convolution; for a transposed one that of the matching convolution.
kernels::Conv2dShape shape_of(const Net& net) {
  const bool is_turned = net.kind == OpKind::conv_transpose2d;
  const size_t pad = size_of(net.kernel / 2);
  return {.batch = net.examples(),
          .height = size_of(net.size),
          .width = size_of(net.size),
          .channels = size_of(is_turned ? net.filters : net.channels),
          .kernel_h = size_of(net.kernel),
          .kernel_w = size_of(net.kernel),
          .filters = size_of(is_turned ? net.channels : net.filters),
          .stride_h = net.stride,
          .stride_w = net.stride,
          .pad_top = pad,
          .pad_left = pad,
          .pad_bottom = pad,
          .pad_right = pad,
          .groups = size_of(net.groups)};
}

// The layer alone, without its bias.
Doubles product(const Net& net, size_t outputs, const Doubles& x, const Doubles& w) {
  const auto& exact = kernels::reference_kernels<double>();
  Doubles y(outputs);
  const auto none = Activation::none;
  if (net.kind == OpKind::dense) {
    const kernels::DenseShape s{net.examples(), size_of(net.channels), size_of(net.filters)};
    exact.dense_forward(s, {0, s.out}, x.data(), w.data(), nullptr, nullptr, none, y.data(), nullptr);
  } else if (net.kind == OpKind::conv2d) {
    exact.conv2d_forward(shape_of(net), x.data(), w.data(), nullptr, nullptr, none, y.data(), nullptr);
  } else {
    exact.conv_transpose2d_forward(shape_of(net), x.data(), w.data(), nullptr, none, y.data(), nullptr);
  }
  return y;
}

Doubles magnitudes(Doubles values) {
  for (double& value : values) value = std::fabs(value);
  return values;
}

Doubles stored(const Model& model, const std::string& name) {
  for (const TensorInfo& tensor : model.graph().tensors) {
    if (tensor.name != name) continue;
    const auto from = model.parameters().begin() + static_cast<ptrdiff_t>(tensor.payload_offset / sizeof(float));
    return {from, from + static_cast<ptrdiff_t>(elements(tensor.shape))};
  }
  return Doubles(64);  // no bias
}

// Layer and norm in double, and how far from that the folded layer may be (ops/folded_norm.h).
struct Expected {
  Expected(const Net& net, const Model& model, const Doubles& x, size_t outputs) {
    const Doubles w = stored(model, "weight"), bias = stored(model, "bias"), scale = stored(model, "scale"),
                  shift = stored(model, "shift"), mean = stored(model, "mean"), variance = stored(model, "variance");
    y = product(net, outputs, x, w);
    bound = product(net, outputs, magnitudes(x), magnitudes(w));
    double relative = gamma(static_cast<double>(w.size() / size_of(net.filters)) + 4);
    if (net.kind == OpKind::conv2d) {
      const ConvolutionBound convolution(shape_of(net), magnitudes(x), magnitudes(w), bound);
      bound = convolution.magnitude;
      relative = convolution.relative + gamma(4);
    }
    for (size_t i = 0; i < y.size(); ++i) {
      const size_t f = i % size_of(net.filters);
      const double factor = scale[f] / std::sqrt(variance[f] + static_cast<double>(NormAttributes{}.epsilon));
      y[i] = (y[i] + bias[f] - mean[f]) * factor + shift[f];
      const double of_bias = std::fabs(bias[f]) + std::fabs(mean[f]);
      bound[i] = relative * ((bound[i] + of_bias) * std::fabs(factor) + std::fabs(shift[f]));
    }
  }
  Doubles y, bound;
};

size_t forward_steps(const Model& model, Purpose purpose, size_t& prepare_steps) {
  const Result<CompiledModel> compiled =
      compile(model, {.purpose = purpose, .batch_size = 2, .arena_bytes_max = limits::kArenaBytesMax});
  EXPECT_OK(compiled);
  prepare_steps = compiled->program.step_count(Phase::prepare);
  return compiled->program.step_count(Phase::forward);
}

TEST(FoldedNorm, IsWithinItsBound) {
  for (const Net& net : kNets) {
    for (const bool is_clipped : {false, true}) {
      SCOPED_TRACE(std::string(to_string(net.kind)) + " " + std::to_string(&net - kNets) +
                   (is_clipped ? " relu6" : ""));
      ModelBuilder build("folded", net.input_shape(), 1);
      TensorId y = net.norm(build, net.layer(build, build.input()));
      if (is_clipped) y = build.op(OpKind::relu6, {y});
      const Model model = load_or_die(build.finish(y));
      size_t prepare_steps = 0;
      EXPECT_EQ(forward_steps(model, Purpose::predict, prepare_steps), 1u);
      EXPECT_GE(prepare_steps, 2u);  // weight and bias; what packs the weight
      Batch batch(model, net.examples());
      const std::vector<float> seen = outputs_of(model, batch);
      const Expected expected(net, model, Doubles(batch.floats().begin(), batch.floats().end()), seen.size());
      for (size_t i = 0; i < seen.size(); ++i) {
        const double exact = is_clipped ? std::clamp(expected.y[i], 0.0, 6.0) : expected.y[i];
        ASSERT_LE(std::fabs(static_cast<double>(seen[i]) - exact), expected.bound[i]) << i << ": " << seen[i];
      }
    }
  }
}

Model frozen(const Model& model) {
  return load_or_die(forged(model, [](ModelGraph& graph) {
    for (TensorInfo& tensor : graph.tensors) {
      const bool is_ours =
          tensor.name == "weight" || tensor.name == "bias" || tensor.name == "scale" || tensor.name == "shift";
      tensor.is_frozen = is_ours;
    }
  }));
}

// By name, what one step changes.
std::map<std::string, std::vector<float>> step_changes(const Model& model, Batch& batch) {
  return changes_of(model, trained_once(model, batch, Loss::softmax_cross_entropy));
}

double largest_of(const std::vector<float>& values) {
  double largest = 0;
  for (const float value : values) largest = std::max(largest, std::fabs(static_cast<double>(value)));
  return largest;
}

// An identity between two ops keeps them from being computed as one.
TensorId apart(ModelBuilder& build, TensorId x, bool is_apart) {
  return is_apart ? build.op(OpKind::identity, {x}) : x;
}

// What is in front of a frozen block is trained through it, and what is behind it from its result.
TEST(FoldedNorm, GradientsGoThrough) {
  for (const Net& net : kNets) {
    for (const OpKind behind : {OpKind::tanh, OpKind::relu, OpKind::relu6, OpKind::max_pool2d}) {
      if (behind == OpKind::max_pool2d && net.kind == OpKind::dense) continue;
      SCOPED_TRACE(std::string(to_string(net.kind)) + " " + std::to_string(&net - kNets) + " " +
                   std::string(to_string(behind)));
      const auto made = [&](bool is_apart) {
        ModelBuilder build("folded", net.input_shape(), 1);
        TensorId y = net.norm(build, apart(build, net.layer(build, shifted(build, build.input())), is_apart));
        const bool is_pool = behind == OpKind::max_pool2d;
        y = is_pool ? build.max_pool2d(build.relu(y), {.kernel = 2, .stride = 2}) : build.op(behind, {y});
        return frozen(scored(build, y));
      };
      const Model folded = made(false), whole = made(true);
      size_t prepare_steps = 0;
      EXPECT_LT(forward_steps(folded, Purpose::train, prepare_steps),
                forward_steps(whole, Purpose::train, prepare_steps));
      Batch batch(folded, 2);
      const auto expected = step_changes(whole, batch), seen = step_changes(folded, batch);
      for (const auto& [name, change] : expected) {
        const double bound = 1e-4 * largest_of(change);
        for (size_t i = 0; i < change.size(); ++i) ASSERT_NEAR(seen.at(name)[i], change[i], bound) << name << " " << i;
      }
      EXPECT_GT(largest_of(expected.at("shift0")), 1e-5);
      EXPECT_EQ(largest_of(expected.at("weight")), 0);
    }
  }
}

TEST(FoldedNorm, StaysAnOpWhereItMust) {
  const Net net;
  const auto is_folded = [&](const Model& model, Purpose purpose) {
    size_t steps = 0;
    forward_steps(model, purpose, steps);
    return steps == 2;  // the factors, and the weight
  };
  ModelBuilder build("trained", net.input_shape(), 1);
  const Model trained = scored(build, net.norm(build, net.layer(build, build.input())));
  EXPECT_TRUE(is_folded(trained, Purpose::evaluate));
  EXPECT_TRUE(is_folded(frozen(trained), Purpose::train));
  EXPECT_FALSE(is_folded(trained, Purpose::train));
  const Model following = load_or_die(forged(frozen(trained), [](ModelGraph& graph) {
    for (OpInfo& op : graph.ops) {
      if (op.kind == OpKind::batch_norm) std::get<NormAttributes>(op.attributes).is_frozen = false;
    }
  }));
  EXPECT_FALSE(is_folded(following, Purpose::train));

  ModelBuilder twice("read twice", net.input_shape(), 1);
  const TensorId y = net.layer(twice, twice.input());
  const Model shared = load_or_die(twice.finish(twice.add(y, net.norm(twice, y))));
  size_t steps = 0;
  EXPECT_EQ(forward_steps(shared, Purpose::predict, steps), 3u);
}

// As the activation alone has it, and its gradient.
TEST(Fusion, ClipsAsTheProductIsStored) {
  for (const Net& net : kNets) {
    for (const OpKind kind : {OpKind::relu, OpKind::relu6}) {
      SCOPED_TRACE(std::string(to_string(net.kind)) + " " + std::to_string(&net - kNets));
      ModelBuilder alone("layer", net.input_shape(), 1), fused("layer", net.input_shape(), 1);
      const Model plain = load_or_die(alone.finish(net.layer(alone, alone.input())));
      const Model clipped = load_or_die(fused.finish(fused.op(kind, {net.layer(fused, fused.input())})));
      size_t prepare_steps = 0;
      EXPECT_EQ(forward_steps(clipped, Purpose::predict, prepare_steps), 1u);
      Batch batch(plain, net.examples(), 7, -6, 6);
      const std::vector<float> x = outputs_of(plain, batch), y = outputs_of(clipped, batch);
      for (size_t i = 0; i < x.size(); ++i) {
        ASSERT_EQ(y[i], std::min(std::max(x[i], 0.0f), kind == OpKind::relu6 ? 6.0f : INFINITY));
      }
      const auto changes = [&](bool is_apart) {
        ModelBuilder build("layer", net.input_shape(), 1);
        const TensorId product = apart(build, net.layer(build, shifted(build, build.input())), is_apart);
        const Model model = scored(build, build.op(kind, {product}));
        Batch few(model, 2);
        return step_changes(model, few);
      };
      const auto expected = changes(true);
      EXPECT_GT(largest_of(expected.at("weight")), 1e-5);
      EXPECT_EQ(changes(false), expected);
    }
  }
}

}  // namespace
}  // namespace coterie::test
