// Every operator in floats: the reference's answer, beside the graph's (interpreted) and the model's (computed).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "model_import/interpret/interpret.h"
#include "model_import/tflite/import_tflite.h"
#include "model_import/tflite_reference/run_tflite.h"
#include "tests/unit/model_import/onnx/onnx_fixtures.h"
#include "tests/unit/model_import/tflite/tflite_build.h"

namespace coterie {
namespace {

using namespace test;
using namespace model_import;

// A file whose input 0 is made by `make`, which gives the output's tensor.
struct Case {
  const char* name;
  std::vector<int32_t> input;
  std::function<int32_t(TfliteBuild&, int32_t)> make;
};

std::vector<double> inputs_of(size_t count) {
  std::vector<double> values;
  for (size_t i = 0; i < count; ++i) values.push_back(static_cast<double>((i * 29 + 5) % 61) / 16 - 1.9);
  return values;
}

auto conv_options(int8_t padding, int32_t stride_h, int32_t stride_w, int8_t activation = 0, int32_t dilation = 1) {
  return [=](auto& b) { return wire::CreateConv2D(b, padding, stride_w, stride_h, activation, dilation, dilation); };
}

std::vector<Case> layer_cases() {
  return {
      {"conv SAME, an odd row more below, relu6",
       {1, 6, 5, 3},
       [](auto& b, int32_t x) {
         const int32_t w = b.weights("w", {4, 3, 3, 3}), bias = b.weights("b", {4}), y = b.value("y", {1, 3, 3, 4});
         b.op(TfliteOp::conv_2d, {x, w, bias}, {y}, wire::Options::Conv2D, conv_options(0, 2, 2, 3));
         return y;
       }},
      {"conv VALID, dilated, no bias",
       {1, 7, 7, 2},
       [](auto& b, int32_t x) {
         const int32_t w = b.weights("w", {3, 3, 3, 2}), y = b.value("y", {1, 3, 3, 3});
         b.op(TfliteOp::conv_2d, {x, w}, {y}, wire::Options::Conv2D, conv_options(1, 1, 1, 1, 2));
         return y;
       }},
      {"conv in groups",
       {1, 4, 4, 4},
       [](auto& b, int32_t x) {
         const int32_t w = b.weights("w", {6, 1, 1, 2}), y = b.value("y", {1, 4, 4, 6});
         b.op(TfliteOp::conv_2d, {x, w}, {y}, wire::Options::Conv2D, conv_options(1, 1, 1));
         return y;
       }},
      {"depthwise, two outputs a channel",
       {1, 5, 5, 3},
       [](auto& b, int32_t x) {
         const int32_t w = b.weights("w", {1, 3, 3, 6}), bias = b.weights("b", {6}), y = b.value("y", {1, 3, 3, 6});
         b.op(TfliteOp::depthwise_conv_2d, {x, w, bias}, {y}, wire::Options::DepthwiseConv2D,
              [](auto& f) { return wire::CreateDepthwiseConv2D(f, 0, 2, 2, 2, 1); });
         return y;
       }},
      {"transposed conv SAME",
       {1, 3, 4, 2},
       [](auto& b, int32_t x) {
         const int32_t size = b.integers("size", {1, 6, 8, 3}), w = b.weights("w", {3, 3, 3, 2});
         const int32_t y = b.value("y", {1, 6, 8, 3});
         b.op(TfliteOp::transpose_conv, {size, w, x}, {y}, wire::Options::TransposeConv,
              [](auto& f) { return wire::CreateTransposeConv(f, 0, 2, 2); });
         return y;
       }},
      {"transposed conv VALID, with bias",
       {1, 3, 3, 2},
       [](auto& b, int32_t x) {
         const int32_t size = b.integers("size", {1, 8, 8, 3}), w = b.weights("w", {3, 3, 3, 2});
         const int32_t bias = b.weights("b", {3}), y = b.value("y", {1, 8, 8, 3});
         b.op(TfliteOp::transpose_conv, {size, w, x, bias}, {y}, wire::Options::TransposeConv,
              [](auto& f) { return wire::CreateTransposeConv(f, 1, 2, 2, 1); });
         return y;
       }},
      {"dense of an image",
       {1, 2, 3, 2},
       [](auto& b, int32_t x) {
         const int32_t w = b.weights("w", {5, 12}), bias = b.weights("b", {5}), y = b.value("y", {1, 5});
         b.op(TfliteOp::fully_connected, {x, w, bias}, {y}, wire::Options::FullyConnected,
              [](auto& f) { return wire::CreateFullyConnected(f, 1); });
         return y;
       }},
      {"dense, weights of float16 that are widened",
       {1, 4},
       [](auto& b, int32_t x) {
         // 1, -0.5, 2, 0.25, and backwards
         const std::vector<uint16_t> halves{0x3c00, 0xb800, 0x4000, 0x3400, 0x3400, 0x4000, 0xb800, 0x3c00};
         const int32_t h = b.constant("h", {2, 4}, TfliteType::float16, halves);
         const int32_t w = b.value("w", {2, 4}), y = b.value("y", {1, 2});
         b.op(TfliteOp::dequantize, {h}, {w});
         b.op(TfliteOp::fully_connected, {x, w}, {y}, wire::Options::FullyConnected,
              [](auto& f) { return wire::CreateFullyConnected(f); });
         return y;
       }},
      {"dense, weights of int8 between floats",
       {1, 3},
       [](auto& b, int32_t x) {
         const int32_t w = b.constant("w", {2, 3}, TfliteType::int8, std::vector<int8_t>{1, -2, 3, -4, 5, -128},
                                      {{0.5f, 0.25f}, {0, 0}, 0});
         const int32_t y = b.value("y", {1, 2});
         b.op(TfliteOp::fully_connected, {x, w}, {y}, wire::Options::FullyConnected,
              [](auto& f) { return wire::CreateFullyConnected(f); });
         return y;
       }},
      {"dense of each row",
       {1, 4, 6},
       [](auto& b, int32_t x) {
         const int32_t w = b.weights("w", {5, 6}), bias = b.weights("b", {5}), y = b.value("y", {1, 4, 5});
         b.op(TfliteOp::fully_connected, {x, w, bias}, {y}, wire::Options::FullyConnected,
              [](auto& f) { return wire::CreateFullyConnected(f, 0, 0, true); });
         return y;
       }},
      {"average pool SAME counts what is inside",
       {1, 5, 5, 2},
       [](auto& b, int32_t x) {
         const int32_t y = b.value("y", {1, 3, 3, 2});
         b.op(TfliteOp::average_pool_2d, {x}, {y}, wire::Options::Pool2D,
              [](auto& f) { return wire::CreatePool2D(f, 0, 2, 2, 3, 3, 1); });
         return y;
       }},
      {"max pool VALID",
       {1, 5, 6, 2},
       [](auto& b, int32_t x) {
         const int32_t y = b.value("y", {1, 2, 3, 2});
         b.op(TfliteOp::max_pool_2d, {x}, {y}, wire::Options::Pool2D,
              [](auto& f) { return wire::CreatePool2D(f, 1, 2, 2, 2, 2); });
         return y;
       }},
      {"product of matrices, the second turned",
       {1, 3, 4},
       [](auto& b, int32_t x) {
         const int32_t w = b.weights("w", {1, 5, 4}), y = b.value("y", {1, 3, 5});
         b.op(TfliteOp::batch_matmul, {x, w}, {y}, wire::Options::BatchMatMul,
              [](auto& f) { return wire::CreateBatchMatMul(f, false, true); });
         return y;
       }},
      {"bilinear, half pixels",
       {1, 3, 4, 2},
       [](auto& b, int32_t x) {
         const int32_t size = b.integers("size", {5, 7}), y = b.value("y", {1, 5, 7, 2});
         b.op(TfliteOp::resize_bilinear, {x, size}, {y}, wire::Options::Resize,
              [](auto& f) { return wire::CreateResize(f, 0, 0, false, true); });
         return y;
       }},
      {"bilinear",
       {1, 3, 4, 2},
       [](auto& b, int32_t x) {
         const int32_t size = b.integers("size", {6, 3}), y = b.value("y", {1, 6, 3, 2});
         b.op(TfliteOp::resize_bilinear, {x, size}, {y}, wire::Options::Resize,
              [](auto& f) { return wire::CreateResize(f); });
         return y;
       }},
      {"nearest, corners aligned",
       {1, 3, 4, 2},
       [](auto& b, int32_t x) {
         const int32_t size = b.integers("size", {5, 7}), y = b.value("y", {1, 5, 7, 2});
         b.op(TfliteOp::resize_nearest_neighbor, {x, size}, {y}, wire::Options::ResizeNearest,
              [](auto& f) { return wire::CreateResizeNearest(f, true, false); });
         return y;
       }},
      {"nearest, half pixels",
       {1, 4, 4, 1},
       [](auto& b, int32_t x) {
         const int32_t size = b.integers("size", {2, 6}), y = b.value("y", {1, 2, 6, 1});
         b.op(TfliteOp::resize_nearest_neighbor, {x, size}, {y}, wire::Options::ResizeNearest,
              [](auto& f) { return wire::CreateResizeNearest(f, false, true); });
         return y;
       }},
      {"sequence LSTM",
       {1, 4, 3},
       [](auto& b, int32_t x) {
         std::vector<int32_t> in{x};
         for (const char* gate : {"i", "f", "c", "o"}) in.push_back(b.weights(std::string("w") + gate, {2, 3}));
         for (const char* gate : {"i", "f", "c", "o"}) in.push_back(b.weights(std::string("r") + gate, {2, 2}));
         in.insert(in.end(), {-1, -1, -1});
         for (const char* gate : {"i", "f", "c", "o"}) in.push_back(b.weights(std::string("b") + gate, {2}));
         in.insert(in.end(), {-1, -1, b.variable("h", {1, 2}), b.variable("c", {1, 2}), -1, -1, -1, -1});
         const int32_t y = b.value("y", {1, 4, 2});
         b.op(TfliteOp::unidirectional_sequence_lstm, in, {y}, wire::Options::SequenceLstm,
              [](auto& f) { return wire::CreateSequenceLstm(f, 4); });
         return y;
       }},
  };
}

std::vector<Case> simple_cases() {
  std::vector<Case> cases;
  const auto unary = [&](const char* name, TfliteOp op) {
    cases.push_back({name, {1, 3, 5}, [op](auto& b, int32_t x) {
                       const int32_t y = b.value("y", {1, 3, 5});
                       b.op(op, {x}, {y});
                       return y;
                     }});
  };
  unary("logistic", TfliteOp::logistic);
  unary("tanh", TfliteOp::tanh);
  unary("relu", TfliteOp::relu);
  unary("relu6", TfliteOp::relu6);
  unary("relu_n1_to_1", TfliteOp::relu_n1_to_1);
  unary("hard_swish", TfliteOp::hard_swish);
  unary("quantize of nothing", TfliteOp::quantize);
  unary("dequantize of nothing", TfliteOp::dequantize);
  unary("cast", TfliteOp::cast);
  cases.push_back({"leaky_relu", {1, 3, 5}, [](auto& b, int32_t x) {
                     const int32_t y = b.value("y", {1, 3, 5});
                     b.op(TfliteOp::leaky_relu, {x}, {y}, wire::Options::LeakyRelu,
                          [](auto& f) { return wire::CreateLeakyRelu(f, 0.3f); });
                     return y;
                   }});
  cases.push_back({"softmax with a factor", {1, 3, 5}, [](auto& b, int32_t x) {
                     const int32_t y = b.value("y", {1, 3, 5});
                     b.op(TfliteOp::softmax, {x}, {y}, wire::Options::Softmax,
                          [](auto& f) { return wire::CreateSoftmax(f, 0.5f); });
                     return y;
                   }});
  const auto binary = [&](const char* name, TfliteOp op, wire::Options kind) {
    cases.push_back(
        {name, {1, 2, 3, 4}, [op, kind](auto& b, int32_t x) {
           const int32_t w = b.weights("w", {4}), y = b.value("y", {1, 2, 3, 4}), z = b.value("z", {1, 2, 3, 4});
           b.op(op, {x, w}, {y}, kind, [](auto& f) { return wire::CreateArithmetic(f, 1); });
           b.op(op, {y, x}, {z}, kind, [](auto& f) { return wire::CreateArithmetic(f, 2); });
           return z;
         }});
  };
  binary("add", TfliteOp::add, wire::Options::Add);
  binary("sub", TfliteOp::sub, wire::Options::Sub);
  binary("mul", TfliteOp::mul, wire::Options::Mul);
  cases.push_back({"concatenation", {1, 2, 3, 2}, [](auto& b, int32_t x) {
                     const int32_t r = b.value("r", {1, 2, 3, 2}), y = b.value("y", {1, 2, 3, 4});
                     b.op(TfliteOp::relu, {x}, {r});
                     b.op(TfliteOp::concatenation, {x, r}, {y}, wire::Options::Concatenation,
                          [](auto& f) { return wire::CreateConcatenation(f, -1); });
                     return y;
                   }});
  cases.push_back({"mean of an image", {1, 3, 4, 2}, [](auto& b, int32_t x) {
                     const int32_t axes = b.integers("axes", {2, 1}), y = b.value("y", {1, 2});
                     b.op(TfliteOp::mean, {x, axes}, {y}, wire::Options::Reducer,
                          [](auto& f) { return wire::CreateReducer(f, false); });
                     return y;
                   }});
  cases.push_back({"mean of channels, kept", {1, 3, 4, 2}, [](auto& b, int32_t x) {
                     const int32_t axes = b.integers("axes", {-1}), y = b.value("y", {1, 3, 4, 1});
                     b.op(TfliteOp::mean, {x, axes}, {y}, wire::Options::Reducer,
                          [](auto& f) { return wire::CreateReducer(f, true); });
                     return y;
                   }});
  return cases;
}

std::vector<Case> movement_cases() {
  return {
      {"pad",
       {1, 2, 3, 2},
       [](auto& b, int32_t x) {
         const int32_t pads =
             b.constant("pads", {4, 2}, TfliteType::int32, std::vector<int32_t>{0, 0, 1, 2, 0, 1, 0, 0});
         const int32_t y = b.value("y", {1, 5, 4, 2});
         b.op(TfliteOp::pad, {x, pads}, {y});
         return y;
       }},
      {"mirror_pad REFLECT",
       {1, 3, 4, 2},
       [](auto& b, int32_t x) {
         const int32_t pads =
             b.constant("pads", {4, 2}, TfliteType::int32, std::vector<int32_t>{0, 0, 2, 1, 1, 3, 0, 0});
         const int32_t y = b.value("y", {1, 6, 8, 2});
         b.op(TfliteOp::mirror_pad, {x, pads}, {y}, wire::Options::MirrorPad,
              [](auto& f) { return wire::CreateMirrorPad(f, 0); });
         return y;
       }},
      {"mirror_pad SYMMETRIC by one",
       {1, 3, 4, 2},
       [](auto& b, int32_t x) {
         const int32_t pads =
             b.constant("pads", {4, 2}, TfliteType::int32, std::vector<int32_t>{0, 0, 1, 1, 0, 1, 0, 0});
         const int32_t y = b.value("y", {1, 5, 5, 2});
         b.op(TfliteOp::mirror_pad, {x, pads}, {y}, wire::Options::MirrorPad,
              [](auto& f) { return wire::CreateMirrorPad(f, 1); });
         return y;
       }},
      {"reshape by its operand, then by its options",
       {1, 2, 3, 2},
       [](auto& b, int32_t x) {
         const int32_t to = b.integers("to", {-1, 6, 2}), r = b.value("r", {1, 6, 2}), y = b.value("y", {1, 12});
         b.op(TfliteOp::reshape, {x, to}, {r});
         b.op(TfliteOp::reshape, {r}, {y}, wire::Options::Reshape, [](auto& f) {
           return wire::CreateReshape(f, f.CreateVector(std::vector<int32_t>{1, 12}));
         });
         return y;
       }},
      {"transpose",
       {1, 2, 3, 4},
       [](auto& b, int32_t x) {
         const int32_t perm = b.integers("perm", {0, 2, 3, 1}), y = b.value("y", {1, 3, 4, 2});
         b.op(TfliteOp::transpose, {x, perm}, {y});
         return y;
       }},
      {"squeeze",
       {1, 1, 3, 4},
       [](auto& b, int32_t x) {
         const int32_t y = b.value("y", {1, 3, 4});
         b.op(TfliteOp::squeeze, {x}, {y}, wire::Options::Squeeze,
              [](auto& f) { return wire::CreateSqueeze(f, f.CreateVector(std::vector<int32_t>{1})); });
         return y;
       }},
      {"split, the parts in another order",
       {1, 2, 6},
       [](auto& b, int32_t x) {
         const int32_t axis = b.integers("axis", {2}), p = b.value("p", {1, 2, 3}), q = b.value("q", {1, 2, 3}),
                       y = b.value("y", {1, 2, 3});
         b.op(TfliteOp::split, {axis, x}, {p, q}, wire::Options::Split,
              [](auto& f) { return wire::CreateSplit(f, 2); });
         b.op(TfliteOp::sub, {q, p}, {y}, wire::Options::Sub, [](auto& f) { return wire::CreateArithmetic(f); });
         return y;
       }},
      {"strided_slice, backwards, masked",
       {1, 5, 6, 2},
       [](auto& b, int32_t x) {
         const int32_t from = b.integers("from", {0, -1, 4, 0}), to = b.integers("to", {1, 0, 0, 2}),
                       step = b.integers("step", {1, -2, -1, 1});
         const int32_t y = b.value("y", {1, 3, 4, 2});
         b.op(TfliteOp::strided_slice, {x, from, to, step}, {y}, wire::Options::StridedSlice,
              [](auto& f) { return wire::CreateStridedSlice(f, 1, 2); });
         return y;
       }},
      {"strided_slice takes one place away",
       {1, 5, 6},
       [](auto& b, int32_t x) {
         const int32_t from = b.integers("from", {0, -2, 1}), to = b.integers("to", {0, 0, 4}),
                       step = b.integers("step", {1, 1, 1});
         const int32_t y = b.value("y", {1, 3});
         b.op(TfliteOp::strided_slice, {x, from, to, step}, {y}, wire::Options::StridedSlice,
              [](auto& f) { return wire::CreateStridedSlice(f, 1, 1, 0, 0, 2); });
         return y;
       }},
  };
}

void expect_all_agree(const Case& each) {
  SCOPED_TRACE(each.name);
  TfliteBuild build;
  const int32_t x = build.value("x", each.input);
  const int32_t made = each.make(build, x);
  // A model has something to train: a layer behind it, of all of its numbers.
  int32_t numbers = 1;
  for (const int32_t dimension : build.shape(made)) numbers *= dimension;
  const int32_t dense = build.weights("dense", {8, numbers}), y = build.value("last", {1, 8});
  build.op(TfliteOp::fully_connected, {made, dense}, {y}, wire::Options::FullyConnected,
           [](auto& f) { return wire::CreateFullyConnected(f); });
  const TfliteModel model = build.model({x}, {y});
  ASSERT_FALSE(model.operators.empty());
  size_t count = 1;
  for (const int32_t dimension : each.input) count *= static_cast<size_t>(dimension);
  const Shape shape(each.input.begin(), each.input.end());
  const std::vector<double> values = inputs_of(count);

  const auto reference = run_tflite(model, {{.shape = shape, .reals = values, .integers = {}}});
  ASSERT_OK(reference);
  const std::vector<double>& expected = reference->at(0).reals;

  const Result<Graph> graph = make_graph(model, TfliteNumbers::real);
  ASSERT_OK(graph);
  const auto interpreted = interpret(*graph, {{"x", {Element::real, shape, values}}}, {graph->outputs[0].name});
  ASSERT_OK(interpreted);
  const Array& by_graph = interpreted->at(graph->outputs[0].name);
  EXPECT_EQ(by_graph.shape, reference->at(0).shape);
  ASSERT_EQ(by_graph.values.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(by_graph.values[i], expected[i], 1e-6) << i;

  const Result<ImportedTflite> imported = import_tflite(model);
  ASSERT_OK(imported);
  const Result<Model> loaded = Model::load(imported->imported.model);
  if (!loaded && loaded.error().message().find("this build has no") != std::string::npos) return;
  ASSERT_OK(loaded);
  EXPECT_FALSE(is_nhwc(*loaded, "input_layout"));  // the file's own order
  const std::vector<float> by_model = predicted(*loaded, {{shape, {values.begin(), values.end()}}}, 1);
  ASSERT_EQ(by_model.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(by_model[i]), expected[i], 1e-5 * std::max(1.0, std::fabs(expected[i]))) << i;
  }
}

TEST(TfliteOperators, LayersComputeWhatTheFormatSays) {
  for (const Case& each : layer_cases()) expect_all_agree(each);
}
TEST(TfliteOperators, SimpleOnesComputeWhatTheFormatSays) {
  for (const Case& each : simple_cases()) expect_all_agree(each);
}
TEST(TfliteOperators, MovementsComputeWhatTheFormatSays) {
  for (const Case& each : movement_cases()) expect_all_agree(each);
}

}  // namespace
}  // namespace coterie
