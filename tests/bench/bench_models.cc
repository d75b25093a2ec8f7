#include "tests/bench/bench_models.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

#include "device_sdk/runtime/model_builder.h"
#include "tools/model/zoo.h"

namespace coterie {
namespace {

constexpr uint64_t kSeed = 1;
constexpr uint32_t kImageNetClasses = 1000;

// Convolution without bias, batch norm, and an activation if any.
TensorId conv_norm(ModelBuilder& build, TensorId x, const ConvLayer& layer, OpKind activation = OpKind::identity) {
  ConvLayer plain = layer;
  plain.bias = false;
  x = build.batch_norm(build.conv2d(x, plain));
  return activation == OpKind::identity ? x : build.op(activation, {x});
}

Result<Bytes> mlp() {
  ModelBuilder build("mlp", {28, 28, 1}, kSeed);
  return build.finish(build.dense(build.relu(build.dense(build.flatten(build.input()), 128)), 10));
}

Result<Bytes> fedavg_cnn() {
  ModelBuilder build("fedavg_cnn", {28, 28, 1}, kSeed);
  TensorId x = build.max_pool2d(build.relu(build.conv2d(build.input(), {.filters = 32, .kernel = 5, .pad = 2})), {});
  x = build.max_pool2d(build.relu(build.conv2d(x, {.filters = 64, .kernel = 5, .pad = 2})), {});
  return build.finish(build.dense(build.relu(build.dense(build.flatten(x), 512)), 10));
}

// He et al. 2016, section 4.2, shortcut A: every second pixel, and zeros for the new channels.
Result<Bytes> resnet20() {
  ModelBuilder build("resnet20", {32, 32, 3}, kSeed);
  TensorId x = conv_norm(build, build.input(), {.filters = 16, .kernel = 3, .pad = 1}, OpKind::relu);
  for (const uint32_t filters : {16u, 32u, 64u}) {
    for (int block = 0; block < 3; ++block) {
      const uint32_t stride = block == 0 && filters > 16 ? 2 : 1;
      TensorId y = conv_norm(build, x, {.filters = filters, .kernel = 3, .stride = stride, .pad = 1}, OpKind::relu);
      y = conv_norm(build, y, {.filters = filters, .kernel = 3, .pad = 1});
      if (stride == 2) {
        const int64_t half = build.shape(y)[0], added = filters / 4;
        x = build.op(OpKind::slice, {x}, SliceAttributes{{1, 2}, {0, 0}, {half, half}, {2, 2}});
        x = build.op(OpKind::pad, {x}, PadAttributes{{0, 0, 0, added}, {0, 0, 0, added}, 0});
      }
      x = build.relu(build.add(y, x));
    }
  }
  return build.finish(build.dense(build.global_average_pool2d(x), 10));
}

// Sandler et al. 2018, table 2, width 1.
Result<Bytes> mobilenet_v2(const std::string& name, int64_t size) {
  struct Stage {
    uint32_t expansion, filters, blocks, stride;
  };
  constexpr Stage kStages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                               {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
  ModelBuilder build(name, {size, size, 3}, kSeed);
  TensorId x = conv_norm(build, build.input(), {.filters = 32, .kernel = 3, .stride = 2, .pad = 1}, OpKind::relu6);
  for (const Stage& stage : kStages) {
    for (uint32_t block = 0; block < stage.blocks; ++block) {
      const auto in = static_cast<uint32_t>(build.shape(x).back());
      const uint32_t hidden = in * stage.expansion, stride = block == 0 ? stage.stride : 1;
      TensorId y = x;
      if (stage.expansion > 1) y = conv_norm(build, y, {.filters = hidden, .kernel = 1}, OpKind::relu6);
      y = conv_norm(build, y, {.filters = hidden, .kernel = 3, .stride = stride, .pad = 1, .groups = hidden},
                    OpKind::relu6);
      y = conv_norm(build, y, {.filters = stage.filters, .kernel = 1});
      x = stride == 1 && in == stage.filters ? build.add(x, y) : y;
    }
  }
  x = conv_norm(build, x, {.filters = 1280, .kernel = 1}, OpKind::relu6);
  x = build.op(OpKind::dropout, {build.global_average_pool2d(x)}, DropoutAttributes{0.2f});
  return build.finish(build.dense(x, kImageNetClasses));
}

Result<Bytes> resnet18() {
  ModelBuilder build("resnet18@224", {224, 224, 3}, kSeed);
  TensorId x = conv_norm(build, build.input(), {.filters = 64, .kernel = 7, .stride = 2, .pad = 3}, OpKind::relu);
  x = build.max_pool2d(x, {.kernel = 3, .stride = 2, .pad = 1});
  for (const uint32_t filters : {64u, 128u, 256u, 512u}) {
    for (int block = 0; block < 2; ++block) {
      const uint32_t stride = block == 0 && filters > 64 ? 2 : 1;
      TensorId y = conv_norm(build, x, {.filters = filters, .kernel = 3, .stride = stride, .pad = 1}, OpKind::relu);
      y = conv_norm(build, y, {.filters = filters, .kernel = 3, .pad = 1});
      if (stride == 2) x = conv_norm(build, x, {.filters = filters, .kernel = 1, .stride = 2});
      x = build.relu(build.add(y, x));
    }
  }
  return build.finish(build.dense(build.global_average_pool2d(x), kImageNetClasses));
}

// 80 characters in, the next one out.
Result<Bytes> char_lstm() {
  constexpr int64_t kLength = 80, kVocabulary = 80, kHidden = 256;
  ModelBuilder build("lstm", {kLength}, kSeed, DataType::int32);
  TensorId x = build.embedding(build.input(), kVocabulary, 8);
  x = build.op(OpKind::transpose, {x}, TransposeAttributes{{1, 0, 2}});  // time first
  TensorId last = x;
  for (int layer = 0; layer < 2; ++layer) {
    const std::string name = "lstm" + std::to_string(layer + 1);
    const int64_t in = layer == 0 ? 8 : kHidden;
    const TensorId w = build.uniform(name + ".w", {in, 4 * kHidden}, 1.0 / 16);
    const TensorId r = build.uniform(name + ".r", {kHidden, 4 * kHidden}, 1.0 / 16);
    const TensorId bias = build.uniform(name + ".bias", {4 * kHidden}, 1.0 / 16);
    const auto outputs = build.outputs(OpKind::lstm, {x, w, r, bias}, RnnAttributes{.hidden = kHidden});
    x = outputs[0];
    last = outputs[1];
  }
  return build.finish(build.dense(last, kVocabulary));
}

// Two pre-norm encoder layers of width 128 with 4 heads, the mean over 64 positions, ten classes.
Result<Bytes> transformer() {
  constexpr int64_t kLength = 64, kWidth = 128;
  ModelBuilder build("tf", {kLength}, kSeed, DataType::int32);
  TensorId x = build.embedding(build.input(), 1000, kWidth);
  x = build.add(x, build.parameter("position", {1, kLength, kWidth}, std::vector<float>(kLength * kWidth)));
  for (int layer = 0; layer < 2; ++layer) {
    const TensorId qkv = build.dense(build.layer_norm(x), 3 * kWidth);
    const auto parts = build.outputs(OpKind::split, {qkv}, SplitAttributes{2, {kWidth, kWidth, kWidth}});
    const TensorId mixed = build.op(OpKind::attention, {parts[0], parts[1], parts[2]}, AttentionAttributes{.heads = 4});
    x = build.add(x, build.dense(mixed, kWidth));
    x = build.add(x, build.dense(build.relu(build.dense(build.layer_norm(x), 512)), kWidth));
  }
  x = build.op(OpKind::reduce_mean, {x}, ReduceAttributes{{1}, false});
  return build.finish(build.dense(x, 10));
}

// Szegedy et al. 2015, table 1: inception (3a) and (3b), behind one convolution.
Result<Bytes> inception() {
  ModelBuilder build("inception", {28, 28, 1}, kSeed);
  const auto conv = [&](TensorId x, uint32_t filters, uint32_t kernel) {
    return build.relu(build.conv2d(x, {.filters = filters, .kernel = kernel, .pad = kernel / 2}));
  };
  struct Block {
    uint32_t one, three_in, three, five_in, five, pooled;
  };
  TensorId x = build.max_pool2d(conv(build.input(), 192, 3), {});
  for (const Block& b : {Block{64, 96, 128, 16, 32, 32}, Block{128, 128, 192, 32, 96, 64}}) {
    const TensorId one = conv(x, b.one, 1), three = conv(conv(x, b.three_in, 1), b.three, 3);
    const TensorId five = conv(conv(x, b.five_in, 1), b.five, 5);
    const TensorId pooled = conv(build.max_pool2d(x, {.kernel = 3, .stride = 1, .pad = 1}), b.pooled, 1);
    x = build.op(OpKind::concat, {one, three, five, pooled}, AxisAttributes{3});
  }
  return build.finish(build.dense(build.global_average_pool2d(x), 10));
}

// Two perceptrons of four layers over the same pixels.
Result<Bytes> towers() {
  ModelBuilder build("towers", {28, 28, 1}, kSeed);
  const TensorId pixels = build.flatten(build.input());
  std::vector<TensorId> ends;
  for (int tower = 0; tower < 2; ++tower) {
    TensorId x = pixels;
    for (int layer = 0; layer < 4; ++layer) x = build.relu(build.dense(x, 256));
    ends.push_back(x);
  }
  return build.finish(build.dense(build.op(OpKind::concat, ends, AxisAttributes{1}), 10));
}

// 80 characters in, an LSTM in each direction, the next one out.
Result<Bytes> both_directions() {
  constexpr int64_t kLength = 80, kVocabulary = 80, kHidden = 128, kFeatures = 8;
  ModelBuilder build("bilstm", {kLength}, kSeed, DataType::int32);
  TensorId x = build.embedding(build.input(), kVocabulary, kFeatures);
  x = build.op(OpKind::transpose, {x}, TransposeAttributes{{1, 0, 2}});  // time first
  std::vector<TensorId> last;
  for (const bool is_reverse : {false, true}) {
    const std::string name = is_reverse ? "backwards" : "forwards";
    const TensorId w = build.uniform(name + ".w", {kFeatures, 4 * kHidden}, 1.0 / 11);
    const TensorId r = build.uniform(name + ".r", {kHidden, 4 * kHidden}, 1.0 / 11);
    const TensorId bias = build.uniform(name + ".bias", {4 * kHidden}, 1.0 / 11);
    const RnnAttributes attributes{.hidden = kHidden, .is_reverse = is_reverse};
    last.push_back(build.outputs(OpKind::lstm, {x, w, r, bias}, attributes)[1]);
  }
  return build.finish(build.dense(build.op(OpKind::concat, last, AxisAttributes{1}), kVocabulary));
}

}  // namespace

std::span<const BenchModel> branched_models() {
  static const std::array<BenchModel, 3> kModels = {
      {{"inception", {1, 8}}, {"towers", {1, 32}}, {"bilstm", {1, 8}, 80, 80}}};
  return kModels;
}

std::span<const BenchModel> bench_models() {
  static const std::array<BenchModel, 9> kModels = {{{"mlp", {1, 32}},
                                                     {"lenet5", {1, 8, 32}},
                                                     {"fedavg_cnn", {8, 32}},
                                                     {"resnet20", {1, 8, 32}},
                                                     {"mbv2@96", {1, 8}, 0, kImageNetClasses},
                                                     {"mbv2@224", {8}, 0, kImageNetClasses},
                                                     {"resnet18@224", {1, 8}, 0, kImageNetClasses},
                                                     {"lstm", {1, 8}, 80, 80},
                                                     {"tf", {1, 8}, 1000}}};
  return kModels;
}

int measure_models(std::span<const std::string_view> names, Status (*measure)(const BenchModel&)) {
  for (const BenchModel& model : bench_models()) {
    if (std::ranges::find(names, model.name) == names.end()) continue;
    if (const Status measured = measure(model); !measured) {
      std::fprintf(stderr, "%s: %s\n", std::string(model.name).c_str(), measured.error().message().c_str());
      return 1;
    }
  }
  return 0;
}

Result<Bytes> make_bench_model(std::string_view name) {
  if (name == "mlp") return mlp();
  if (name == "lenet5") return make_model(ModelKind::lenet5, {28, 28, 1}, 10, kSeed);
  if (name == "fedavg_cnn") return fedavg_cnn();
  if (name == "resnet20") return resnet20();
  if (name == "mbv2@96") return mobilenet_v2(std::string(name), 96);
  if (name == "mbv2@224") return mobilenet_v2(std::string(name), 224);
  if (name == "resnet18@224") return resnet18();
  if (name == "lstm") return char_lstm();
  if (name == "tf") return transformer();
  if (name == "inception") return inception();
  if (name == "towers") return towers();
  if (name == "bilstm") return both_directions();
  return Error(ErrorCode::invalid_argument, "there is no model " + std::string(name));
}

}  // namespace coterie
