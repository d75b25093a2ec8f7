// The reference beside numbers that were computed by hand: so that it judges by more than its own word.
#include <gtest/gtest.h>

#include "model_import/tflite_reference/fixed_point.h"
#include "model_import/tflite_reference/run_tflite.h"
#include "tests/unit/model_import/tflite/tflite_build.h"

namespace coterie {
namespace {

using namespace test;
using namespace model_import;

std::vector<double> reals_of(const TfliteModel& model, const Shape& shape, const std::vector<double>& x) {
  const auto outputs = run_tflite(model, {{.shape = shape, .reals = x, .integers = {}}});
  EXPECT_OK(outputs);
  return outputs ? outputs->at(0).reals : std::vector<double>();
}

std::vector<int64_t> integers_from(const TfliteModel& model, const Shape& shape, const std::vector<int64_t>& x) {
  const auto outputs = run_tflite(model, {{.shape = shape, .reals = {}, .integers = x}});
  EXPECT_OK(outputs);
  return outputs ? outputs->at(0).integers : std::vector<int64_t>();
}

TEST(TfliteReference, AFixedPointNumberHasItsTopBitSet) {
  EXPECT_EQ(fixed_point(0.5).factor, 1 << 30);
  EXPECT_EQ(fixed_point(0.5).shift, 0);
  EXPECT_EQ(fixed_point(3).factor, 3 << 29);
  EXPECT_EQ(fixed_point(3).shift, 2);
  EXPECT_EQ(fixed_point(1 - 1e-12).factor, 1 << 30);  // rounds up to 1
  EXPECT_EQ(fixed_point(0).factor, 0);
}

TEST(TfliteReference, RoundingIsAwayFromZero) {
  EXPECT_EQ(scaled(5, fixed_point(0.5)), 3);
  EXPECT_EQ(scaled(-5, fixed_point(0.25)), -1);
  EXPECT_EQ(scaled(6, fixed_point(0.25)), 2);  // 1.5
  EXPECT_EQ(scaled(-6, fixed_point(0.25)), -2);
  EXPECT_EQ(scaled(7, fixed_point(4)), 28);
  EXPECT_EQ(scaled_wide(3, fixed_point(0.5)), 2);  // 1.5, upwards
  EXPECT_EQ(scaled_wide(-3, fixed_point(0.5)), -1);
  EXPECT_EQ(doubling_high_product(INT32_MIN, INT32_MIN), INT32_MAX);
}

// SAME with an even size pads below and to the right alone.
TEST(TfliteReference, SamePadsTheEndFirst) {
  TfliteBuild build;
  const int32_t x = build.value("x", {1, 4, 4, 1}), y = build.value("y", {1, 2, 2, 1});
  const int32_t w = build.reals("w", {1, 3, 3, 1}, {1, 10, 100, 1, 10, 100, 1, 10, 100});
  build.op(TfliteOp::conv_2d, {x, w}, {y}, wire::Options::Conv2D,
           [](auto& f) { return wire::CreateConv2D(f, 0, 2, 2); });
  std::vector<double> image;
  for (int i = 0; i < 16; ++i) image.push_back(i);
  // Rows 0-2 and columns 0-2 first; the last column and row lie outside.
  EXPECT_EQ(reals_of(build.model({x}, {y}), {1, 4, 4, 1}, image),
            (std::vector<double>{1 * 12 + 10 * 15 + 100 * 18, 1 * 18 + 10 * 21, 1 * 20 + 10 * 22 + 100 * 24,
                                 1 * 24 + 10 * 26}));
}

TEST(TfliteReference, ADenseLayerOfInt8) {
  TfliteBuild build;
  const Grid in{{0.5f}, {-1}}, out{{0.25f}, {3}};
  const int32_t x = build.value("x", {1, 2}, TfliteType::int8, in), y = build.value("y", {1, 2}, TfliteType::int8, out);
  const int32_t w =
      build.constant("w", {2, 2}, TfliteType::int8, std::vector<int8_t>{2, -3, 100, 127}, {{0.125f}, {0}});
  const int32_t b = build.constant("b", {2}, TfliteType::int32, std::vector<int32_t>{5, -4}, {{0.0625f}, {0}});
  build.op(TfliteOp::fully_connected, {x, w, b}, {y}, wire::Options::FullyConnected,
           [](auto& f) { return wire::CreateFullyConnected(f, 1); });
  // x + 1 = 4, 6: 8 - 18 + 5 = -5, times 1/4 is -1.25, so -1; relu: never below the zero 3. 400 + 762 - 4 saturates.
  EXPECT_EQ(integers_from(build.model({x}, {y}), {1, 2}, {3, 5}), (std::vector<int64_t>{3, 127}));
}

TEST(TfliteReference, AMeanOfInt8RoundsAwayFromZero) {
  TfliteBuild build;
  const Grid grid{{1}, {0}};
  const int32_t x = build.value("x", {1, 1, 4, 1}, TfliteType::int8, grid),
                y = build.value("y", {1, 1, 2, 1}, TfliteType::int8, grid);
  build.op(TfliteOp::average_pool_2d, {x}, {y}, wire::Options::Pool2D,
           [](auto& f) { return wire::CreatePool2D(f, 1, 2, 1, 2, 1); });
  EXPECT_EQ(integers_from(build.model({x}, {y}), {1, 1, 4, 1}, {1, 2, -1, -2}), (std::vector<int64_t>{2, -2}));
}

TEST(TfliteReference, ALogisticOfInt8StandsOnItsGrid) {
  TfliteBuild build;
  const int32_t x = build.value("x", {1, 3}, TfliteType::int8, {{0.5f}, {0}}),
                y = build.value("y", {1, 3}, TfliteType::int8, {{1 / 256.f}, {-128}});
  build.op(TfliteOp::logistic, {x}, {y});
  // 256 / (1 + e^-1) - 128 = 59.15; 0.5 is 0; 1 / (1 + e^64) is nothing
  EXPECT_EQ(integers_from(build.model({x}, {y}), {1, 3}, {2, 0, -128}), (std::vector<int64_t>{59, 0, -128}));
}

TEST(TfliteReference, FloatsArePutOnAGridAndBack) {
  TfliteBuild build;
  const int32_t x = build.value("x", {1, 4}), q = build.value("q", {1, 4}, TfliteType::int8, {{0.5f}, {10}}),
                y = build.value("y", {1, 4});
  build.op(TfliteOp::quantize, {x}, {q});
  build.op(TfliteOp::dequantize, {q}, {y});
  EXPECT_EQ(reals_of(build.model({x}, {y}), {1, 4}, {0.25, -0.25, 1000, -1000}),
            (std::vector<double>{0.5, -0.5, 58.5, -69}));
}

TEST(TfliteReference, InputsOfAnotherSizeAreRefused) {
  TfliteBuild build;
  const int32_t x = build.value("x", {1, 4}), y = build.value("y", {1, 4});
  build.op(TfliteOp::relu, {x}, {y});
  const TfliteModel model = build.model({x}, {y});
  EXPECT_ERROR(run_tflite(model, {}), ErrorCode::invalid_argument, "1 inputs");
  EXPECT_ERROR(run_tflite(model, {{.shape = {1, 3}, .reals = {1, 2, 3}, .integers = {}}}), ErrorCode::invalid_argument,
               "another size");
}

}  // namespace
}  // namespace coterie
