// Bytes that are no honest MindSpore Lite model: each is a typed error.
#include <gtest/gtest.h>

#include <random>

#include "base/os/file.h"
#include "device_sdk/runtime/model.h"
#include "model_import/mslite/import_mslite.h"
#include "tests/support/paths.h"
#include "tests/unit/model_import/mslite/mslite_build.h"

namespace coterie {
namespace {

using namespace test;
using namespace model_import;

// A file of another program, flatc, from the format's own schema: a convolution, a pool, a dense layer, a softmax.
Bytes small_net() {
  Result<Bytes> bytes = os::read_file(source_dir() + "/tests/fuzz/corpus/mslite/hand-net", 1 << 20);
  EXPECT_OK(bytes);
  return bytes ? std::move(*bytes) : Bytes();
}

// Read and imported: the error, or none.
Status taken(ByteView file) {
  COT_ASSIGN(const MsliteModel model, read_mslite(file));
  COT_TRY(import_mslite(model));
  return {};
}

Status graph_made(ByteView file) {
  COT_ASSIGN(const MsliteModel model, read_mslite(file));
  COT_TRY(make_graph(model));
  return {};
}

TEST(HostileMslite, TheWholeFileIsTaken) { EXPECT_OK(taken(small_net())); }

TEST(HostileMslite, EveryPrefixIsRefused) {
  const Bytes file = small_net();
  for (size_t size = 0; size < file.size(); ++size) {
    // In a buffer of its own, so that a read behind the end is seen.
    const Bytes prefix(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));
    const Result<MsliteModel> model = read_mslite(prefix);
    // FlatBuffers write from the end: the last bytes may be padding of what lies there.
    if (model) continue;
    ASSERT_NE(model.error().code(), ErrorCode::internal) << size;
  }
  EXPECT_ERROR(read_mslite(ByteView(file).first(file.size() / 2)), ErrorCode::malformed, "not a MindSpore Lite model");
}

TEST(HostileMslite, TwoThousandMutationsNeverBreakIt) {
  const Bytes file = small_net();
  std::mt19937_64 chance(7);
  size_t taken_whole = 0;
  for (int i = 0; i < 2'000; ++i) {
    Bytes damaged = file;
    for (uint64_t changes = 1 + chance() % 4; changes > 0; --changes) {
      static constexpr uint8_t kBytes[] = {0, 1, 0x7f, 0x80, 0xff};
      uint8_t& byte = damaged[chance() % damaged.size()];
      byte = chance() % 2 == 0 ? kBytes[chance() % 5] : static_cast<uint8_t>(byte ^ (1u << chance() % 8));
    }
    // To convert takes longest: one in 25.
    const Status status = i % 25 == 0 ? taken(damaged) : graph_made(damaged);
    if (status) ++taken_whole;
    else ASSERT_NE(status.error().code(), ErrorCode::internal) << i << ": " << status.error().message();
  }
  EXPECT_GT(taken_whole, 0u);  // a weight of another value
  EXPECT_LT(taken_whole, 2'000u);
}

// One fault at a time.
struct Damaged {
  MsliteBuild b;
  uint32_t x = b.value("x", {1, 4}), y = b.value("y", {1, 4});
  Result<MsliteModel> read(std::vector<uint32_t> inputs = {0}, std::vector<uint32_t> outputs = {1}) {
    return read_mslite(b.bytes(inputs, outputs));
  }
};

TEST(HostileMslite, IndicesOutOfRange) {
  Damaged input;
  input.b.op(MsliteOp::abs, {input.x}, {input.y});
  EXPECT_ERROR(input.read({7}), ErrorCode::malformed, "name tensor 7, of which there are 2");
  Damaged operand;
  operand.b.op(MsliteOp::abs, {9}, {operand.y});
  EXPECT_ERROR(operand.read(), ErrorCode::malformed, "node 0 (Abs): its inputs name tensor 9");
  Damaged result;
  result.b.op(MsliteOp::abs, {result.x}, {UINT32_MAX});
  EXPECT_ERROR(result.read(), ErrorCode::malformed, "its outputs name tensor 4294967295");
}

TEST(HostileMslite, NodesInAnyOrderButNoCircle) {
  Damaged backwards;
  const uint32_t m = backwards.b.value("m", {1, 4});
  backwards.b.op(MsliteOp::abs, {m}, {backwards.y});
  backwards.b.op(MsliteOp::neg, {backwards.x}, {m});
  const Result<MsliteModel> sorted = backwards.read();
  ASSERT_OK(sorted);
  EXPECT_EQ(sorted->operators[0].op, MsliteOp::neg);
  Damaged twice;
  twice.b.op(MsliteOp::abs, {twice.x}, {twice.y});
  twice.b.op(MsliteOp::neg, {twice.x}, {twice.y});
  EXPECT_ERROR(twice.read(), ErrorCode::malformed, "node 1 (Neg) writes tensor y, which is already written");
  Damaged self;
  self.b.op(MsliteOp::abs, {self.y}, {self.y});
  EXPECT_ERROR(self.read(), ErrorCode::malformed, "the nodes go in a circle");
  Damaged circle;
  const uint32_t n = circle.b.value("n", {1, 4});
  circle.b.op(MsliteOp::abs, {n}, {circle.y});
  circle.b.op(MsliteOp::abs, {circle.y}, {n});
  EXPECT_ERROR(circle.read(), ErrorCode::malformed, "the nodes go in a circle");
  Damaged nothing;
  const uint32_t z = nothing.b.value("z", {1, 4});
  nothing.b.op(MsliteOp::abs, {z}, {nothing.y});
  EXPECT_ERROR(nothing.read(), ErrorCode::malformed, "reads tensor z, which nothing has written");
}

TEST(HostileMslite, ShapesThatAreBombs) {
  const auto with = [](const std::vector<int32_t>& shape) {
    Damaged bomb;
    bomb.b.value("z", shape);
    bomb.b.op(MsliteOp::abs, {bomb.x}, {bomb.y});
    return bomb.read();
  };
  EXPECT_ERROR(with({2'000'000'000, 2'000'000'000}), ErrorCode::too_large, "more than 2^40 elements");
  EXPECT_ERROR(with(std::vector<int32_t>(9, 1)), ErrorCode::too_large, "more than 8 dimensions");
  EXPECT_ERROR(with({0, 4}), ErrorCode::malformed, "a dimension of 0");
  EXPECT_ERROR(with({-7, 4}), ErrorCode::malformed, "a dimension of -7");
}

TEST(HostileMslite, DataThatDoesNotFitItsShape) {
  Damaged data;
  data.b.reals("z", {5}, {1, 2, 3});
  data.b.op(MsliteOp::abs, {data.x}, {data.y});
  EXPECT_ERROR(data.read(), ErrorCode::malformed, "has 12 bytes, its shape needs 20");
  Damaged open;
  open.b.reals("z", {-1}, {1});
  open.b.op(MsliteOp::abs, {open.x}, {open.y});
  EXPECT_ERROR(open.read(), ErrorCode::malformed, "a constant with a dimension of -1");
}

TEST(HostileMslite, DataThatIsSharedToGrow) {
  Damaged shared;
  shared.b.reals("z", {1'024}, std::vector<float>(1'024));
  for (int i = 0; i < 100; ++i) shared.b.again("z" + std::to_string(i), {1'024});
  shared.b.op(MsliteOp::abs, {shared.x}, {shared.y});
  EXPECT_ERROR(shared.read(), ErrorCode::too_large, "more than 4 times as large as the file");
}

TEST(HostileMslite, WhatIsQuantisedOrElsewhereIsRefusedByName) {
  const auto with = [](int32_t type, const MsliteForm& form) {
    Damaged refused;
    refused.b.constant("z", {4}, type, std::vector<uint8_t>(4), form);
    refused.b.op(MsliteOp::abs, {refused.x}, {refused.y});
    return refused.read();
  };
  EXPECT_ERROR(with(32, {}), ErrorCode::invalid_argument, "tensor 2 (z): is of int8: convert the model without quant");
  EXPECT_ERROR(with(37, {}), ErrorCode::invalid_argument, "is of uint8");
  EXPECT_ERROR(with(44, {}), ErrorCode::invalid_argument, "is of type 44 of the format");
  EXPECT_ERROR(with(43, {.compression = 4}), ErrorCode::invalid_argument, "compressed weights: convert the model");
  EXPECT_ERROR(with(43, {.is_huffman_coded = true}), ErrorCode::invalid_argument, "compressed weights");
  EXPECT_ERROR(with(43, {.is_elsewhere = true}), ErrorCode::invalid_argument, "keeps its data in another file");
}

TEST(HostileMslite, TrainingGraphsAndUnknownOperatorsAreNamedWithTheirPlace) {
  Damaged training;
  const uint32_t m = training.b.value("m", {1, 4}), n = training.b.value("n", {1, 4});
  training.b.op(MsliteOp::abs, {training.x}, {m});
  training.b.op(uint8_t{3}, {m}, {n});
  training.b.op(uint8_t{10}, {n}, {training.y});
  EXPECT_ERROR(training.read(), ErrorCode::invalid_argument,
               "a training graph (ActivationGrad (node 1), ApplyMomentum (node 2)): export it for inference");
  Damaged unknown;
  unknown.b.op(uint8_t{193}, {unknown.x}, {unknown.y});
  EXPECT_ERROR(unknown.read(), ErrorCode::invalid_argument, "not supported: SplitWithOverlap (node 0)");
  Damaged future;
  future.b.op(uint8_t{250}, {future.x}, {future.y});
  EXPECT_ERROR(future.read(), ErrorCode::invalid_argument, "operator 250 (node 0)");
  Damaged none;
  none.b.op(uint8_t{0}, {none.x}, {none.y});
  EXPECT_ERROR(none.read(), ErrorCode::malformed, "node 0 has no operator");
}

TEST(HostileMslite, AttributesOutOfRange) {
  const auto with = [](int8_t pad_mode, int64_t stride, int8_t activation, int64_t group = 1,
                       int64_t pad = 0) -> Result<Graph> {
    MsliteBuild b;
    const uint32_t x = b.value("x", {1, 4, 4, 1}), y = b.value("y", {1, 4, 4, 1}), w = b.weights("w", {1, 1, 1, 1});
    b.op(MsliteOp::convolution, {x, w}, {y}, [=](auto& f) {
      const std::vector<int64_t> strides{stride, 1}, ones{1, 1}, pads{pad, 0, 0, 0};
      return ms::CreateConvolutionDirect(f, 1, &ones, &strides, &ones, pad_mode, &pads, 0, group, 1, 1, activation);
    });
    COT_ASSIGN(const MsliteModel model, read_mslite(b.bytes({x}, {y})));
    return make_graph(model);
  };
  EXPECT_OK(with(0, 1, 0));
  EXPECT_ERROR(with(5, 1, 0), ErrorCode::malformed, "padding is number 5");
  EXPECT_ERROR(with(0, 0, 0), ErrorCode::malformed, "strides must be at least 1, is 0");
  EXPECT_ERROR(with(0, 1ll << 40, 0), ErrorCode::malformed, "strides must be at least 1");
  EXPECT_ERROR(with(0, 1, 10), ErrorCode::invalid_argument, "its fused activation is number 10");
  EXPECT_ERROR(with(0, 1, 0, 3), ErrorCode::malformed, "its group of 3 does not fit weights of 1");
  EXPECT_ERROR(with(0, 1, 0, 1, -2), ErrorCode::malformed, "padding must be at least 0, is -2");
  MsliteBuild none;
  const uint32_t x = none.value("x", {1, 4}), y = none.value("y", {1, 4});
  none.op_without_attributes(MsliteOp::activation, {x}, {y});
  EXPECT_ERROR(read_mslite(none.bytes({x}, {y})), ErrorCode::malformed, "it has no attributes");
  MsliteBuild few;
  const uint32_t p = few.value("x", {1, 4}), q = few.value("y", {1, 4});
  few.op(MsliteOp::gather, {p}, {q});
  EXPECT_ERROR(read_mslite(few.bytes({p}, {q})), ErrorCode::malformed, "it needs 3 inputs, has 1");
}

TEST(HostileMslite, ImagesThatLieOtherwise) {
  MsliteBuild b;
  const uint32_t x = b.value("x", {1, 1, 4, 4}, MsliteType::float32, {.layout = 0}), y = b.value("y", {1, 1, 2, 2});
  b.op(MsliteOp::max_pool, {x}, {y}, [](auto& f) {
    const std::vector<int64_t> two{2, 2};
    return ms::CreatePoolDirect(f, &two, &two, nullptr, 2);
  });
  EXPECT_ERROR(make_graph(b.model({x}, {y})), ErrorCode::invalid_argument, "not laid out as NHWC");
}

TEST(HostileMslite, BranchesAndObfuscatedFiles) {
  Damaged several;
  several.b.op(MsliteOp::abs, {several.x}, {several.y});
  EXPECT_ERROR(read_mslite(several.b.bytes({0}, {1}, 2)), ErrorCode::invalid_argument, "has 2 graphs, for branches");
  Damaged obfuscated;
  obfuscated.b.op(MsliteOp::abs, {obfuscated.x}, {obfuscated.y});
  EXPECT_ERROR(read_mslite(obfuscated.b.bytes({0}, {1}, 1, true)), ErrorCode::invalid_argument, "is obfuscated");
  EXPECT_ERROR(read_mslite({}), ErrorCode::malformed, "no identifier MSL2");
}

}  // namespace
}  // namespace coterie
