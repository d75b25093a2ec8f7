// Models come from the network. Each of these decodes as a frame and must be refused for what it says: with a clear
// error, without a crash and without an allocation of what it claims to need.
#include <gtest/gtest.h>

#include "device_sdk/runtime/limits.h"
#include "device_sdk/runtime/trainer.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"

namespace coterie::test {
namespace {

// conv (4 -> 6, 2 groups) -> max pool -> flatten -> relu -> dense, with every parameter at hand.
Model victim() {
  ModelBuilder build("victim", {6, 6, 4}, 1);
  TensorId x = build.conv2d(build.input(), {.filters = 6, .kernel = 3, .groups = 2});
  x = build.relu(build.flatten(build.max_pool2d(x, {})));
  return load_or_die(build.finish(build.dense(x, 3)));
}

OpInfo& op_of(ModelGraph& graph, OpKind kind) {
  for (OpInfo& op : graph.ops) {
    if (op.kind == kind) return op;
  }
  return graph.ops.front();
}

TensorInfo& tensor_of(ModelGraph& graph, const std::string& name) {
  for (TensorInfo& tensor : graph.tensors) {
    if (tensor.name == name) return tensor;
  }
  return graph.tensors.front();
}

Conv2dAttributes& conv_of(ModelGraph& graph) {
  return std::get<Conv2dAttributes>(op_of(graph, OpKind::conv2d).attributes);
}
Pool2dAttributes& pool_of(ModelGraph& graph) {
  return std::get<Pool2dAttributes>(op_of(graph, OpKind::max_pool2d).attributes);
}

struct Forgery {
  const char* words;  // that the error must contain
  std::function<void(ModelGraph&)> change;
  ErrorCode code = ErrorCode::malformed;
};

std::vector<Forgery> shape_forgeries() {
  return {
      {"does not fit",
       [](ModelGraph& g) {
         tensor_of(g, "dense1.weight").shape = {8, 9};
       }},
      {"does not fit an input",
       [](ModelGraph& g) {
         tensor_of(g, "dense1.weight").shape = {1, 3};
       }},
      {"weight must have 2 dimensions, is 72", [](ModelGraph& g) { tensor_of(g, "dense1.weight").shape = {72}; }},
      {"bias 1 does not fit", [](ModelGraph& g) { tensor_of(g, "dense1.bias").shape = {1}; }},
      {"bias 1x3 does not fit",
       [](ModelGraph& g) {
         tensor_of(g, "dense1.bias").shape = {1, 3};
       }},
      {"weight must have 4 dimensions, is 108", [](ModelGraph& g) { tensor_of(g, "conv1.weight").shape = {108}; }},
      {"channels in 2 groups",
       [](ModelGraph& g) {
         tensor_of(g, "conv1.weight").shape = {3, 3, 1, 6};
       }},
      {"height x width x channels", [](ModelGraph& g) { tensor_of(g, "input").shape = {144}; }},
      {"height x width x channels",
       [](ModelGraph& g) {
         tensor_of(g, "input").shape = {1, 6, 6, 4};
       }},
      {"does not fit",
       [](ModelGraph& g) {
         tensor_of(g, "input").shape = {60, 60, 4};
       }},
      {"larger than the input's",
       [](ModelGraph& g) {
         tensor_of(g, "input").shape = {2, 6, 4};
       }},
      {"elements",
       [](ModelGraph& g) {
         tensor_of(g, "input").shape = {1 << 30, 1 << 30, 4};
       },
       ErrorCode::too_large},
      {"overflows", [](ModelGraph& g) { tensor_of(g, "input").shape = Shape(8, 1ll << 31); }},
  };
}

std::vector<Forgery> attribute_forgeries() {
  constexpr uint32_t kHuge = 0xffffffffu;
  return {
      {"groups 0", [](ModelGraph& g) { conv_of(g).groups = 0; }},
      {"groups 3 do not divide", [](ModelGraph& g) { conv_of(g).groups = 3; }},
      {"groups 4294967295", [](ModelGraph& g) { conv_of(g).groups = kHuge; }},
      {"stride of the height is 0", [](ModelGraph& g) { conv_of(g).stride_h = 0; }},
      {"stride of the width is 0", [](ModelGraph& g) { conv_of(g).stride_w = 0; }},
      {"not smaller than the kernel", [](ModelGraph& g) { conv_of(g).pad_top = 3; }},
      {"not smaller than the kernel", [](ModelGraph& g) { conv_of(g).pad_right = kHuge; }},
      {"of the kernel is 0", [](ModelGraph& g) { pool_of(g).kernel_h = 0; }},
      {"stride of the width is 0", [](ModelGraph& g) { pool_of(g).stride_w = 0; }},
      {"larger than the input's", [](ModelGraph& g) { pool_of(g).kernel_h = 5; }},
      {"larger than the input's", [](ModelGraph& g) { pool_of(g).kernel_w = kHuge; }},
      {"not smaller than the kernel", [](ModelGraph& g) { pool_of(g).pad_bottom = 2; }},
      {"elements", [](ModelGraph& g) { pool_of(g) = {kHuge, kHuge, 1, 1, kHuge - 1, kHuge - 1, kHuge - 1, kHuge - 1}; },
       ErrorCode::malformed},
      {"attribute kernel_h is unknown to it",
       [](ModelGraph& g) { op_of(g, OpKind::conv2d).attributes = Pool2dAttributes{.kernel_h = 2}; }},
      {"attribute kernel_h is unknown to it",
       [](ModelGraph& g) { op_of(g, OpKind::relu).attributes = Pool2dAttributes{.kernel_h = 2}; }},
      {"another number of elements", [](ModelGraph& g) { op_of(g, OpKind::flatten).kind = OpKind::reshape; }},
      {"dilation of the width is 0", [](ModelGraph& g) { conv_of(g).dilation_w = 0; }},
      {"another number of elements",
       [](ModelGraph& g) {
         op_of(g, OpKind::flatten) = {OpKind::reshape, "r", op_of(g, OpKind::flatten).inputs,
                                      op_of(g, OpKind::flatten).outputs, ShapeAttributes{{-1, 5, 5}}};
       }},
  };
}

std::vector<Forgery> operand_forgeries() {
  return {
      {"has 1 inputs", [](ModelGraph& g) { op_of(g, OpKind::dense).inputs.resize(1); }},
      {"has 2 inputs", [](ModelGraph& g) { op_of(g, OpKind::relu).inputs.push_back(0); }},
      {"input 0 must not be absent", [](ModelGraph& g) { op_of(g, OpKind::relu).inputs[0] = kNoTensor; }},
      {"input 1 must not be absent", [](ModelGraph& g) { op_of(g, OpKind::dense).inputs[1] = kNoTensor; }},
      {"weight 2x3 does not fit an input of 2x3",  // at the batch that shapes are inferred with
       [](ModelGraph& g) {
         tensor_of(g, "dense1.weight").shape = {2, 3};
         OpInfo& op = op_of(g, OpKind::dense);
         op.inputs[0] = op.inputs[1];
       }},
      {"other is an input",
       [](ModelGraph& g) {
         g.tensors.push_back({"other", TensorRole::input, {6, 6, 4}, 0});
       }},
      {"has 2 outputs, must have 1",
       [](ModelGraph& g) {
         g.tensors.push_back({"spare", TensorRole::activation, {}, 0});
         op_of(g, OpKind::relu).outputs.push_back(static_cast<uint32_t>(g.tensors.size() - 1));
       }},
      {"does not broadcast with 2x6x6x4",
       [](ModelGraph& g) {
         OpInfo& op = op_of(g, OpKind::relu);
         op = {OpKind::add, "sum", {0, op.inputs[0]}, op.outputs, {}};
       }},
  };
}

void expect_refused(const std::vector<Forgery>& forgeries) {
  const Model model = victim();
  for (size_t i = 0; i < forgeries.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_ERROR(Model::load(forged(model, forgeries[i].change)), forgeries[i].code, forgeries[i].words);
  }
}

TEST(HostileModel, WithShapesThatDoNotFitIsRefused) { expect_refused(shape_forgeries()); }
TEST(HostileModel, WithImpossibleAttributesIsRefused) { expect_refused(attribute_forgeries()); }
TEST(HostileModel, WithTheWrongOperandsIsRefused) { expect_refused(operand_forgeries()); }

TEST(HostileModel, ErrorsNameTheOp) {
  EXPECT_ERROR(Model::load(forged(victim(), [](ModelGraph& g) { conv_of(g).stride_h = 0; })), ErrorCode::malformed,
               "op conv1 (conv2d): stride");
}

TEST(HostileModel, WithTooManyOpsIsRefused) {
  const Bytes file = forged(victim(), [](ModelGraph& g) {
    for (size_t i = 0; i <= limits::kRuntimeOpsMax; ++i) {
      g.tensors.push_back({"t", TensorRole::activation, {}, 0});
      g.ops.push_back({OpKind::relu, "r", {0}, {static_cast<uint32_t>(g.tensors.size() - 1)}, {}});
    }
  });
  EXPECT_ERROR(Model::load(file), ErrorCode::too_large, "ops, at most 4096");
}

TEST(HostileModel, ThatWouldComputeForeverIsRefused) {
  ModelBuilder build("furnace", {8192, 8192, 1}, 1);
  TensorId x = build.average_pool2d(build.input(), {.kernel = 4096, .stride = 1});
  x = build.global_average_pool2d(x);
  EXPECT_ERROR(build.finish(build.dense(x, 2)), ErrorCode::too_large, "10^12 operations");
}

TEST(HostileModel, ThatNeedsTooMuchMemoryIsRefusedBeforeAnyIsTaken) {
  ModelBuilder build("glutton", {8192, 8192, 4}, 1);  // 1 GiB an example and layer
  TensorId x = build.input();
  for (int i = 0; i < 3; ++i) x = build.add(x, build.input());
  x = build.global_average_pool2d(x);
  const Model model = load_or_die(build.finish(build.dense(x, 2)));
  Examples examples(1, 1, 2);
  class Few : public ExampleSource {
    uint64_t size() const override { return 64; }
    Status read(uint64_t, const Example&) override { return {}; }
  } few;
  const TrainingSettings settings{.batch_size = 64, .optimizer = {}};
  EXPECT_ERROR(Trainer::create(model, settings, few, 1), ErrorCode::too_large, "at most 4294967296 bytes");
  TrainOptions small;
  small.arena_bytes_max = 100'000;
  EXPECT_ERROR(Trainer::create(small_cnn(), small, few), ErrorCode::too_large, "at most 100000 bytes");
}

}  // namespace
}  // namespace coterie::test
