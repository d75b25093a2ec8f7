// Bytes that are no honest ONNX model: each is a typed error.
#include <gtest/gtest.h>

#include <random>

#include "model_import/onnx/read_onnx.h"
#include "tests/unit/model_import/onnx/graphs.h"
#include "tests/unit/model_import/onnx/onnx_fixtures.h"

namespace coterie {
namespace {

using namespace test;

TEST(HostileOnnx, EveryPrefixOfAModelIsRefused) {
  const Bytes file = read_or_die(golden_path("lenet_static.onnx"));
  for (size_t size = 0; size < file.size(); ++size) {
    const Result<model_import::ImportedModel> import = model_import::import_onnx(ByteView(file).first(size));
    ASSERT_FALSE(import) << size;
    ASSERT_NE(import.error().code(), ErrorCode::internal) << size;
  }
}

TEST(HostileOnnx, AFlippedByteNeverBreaksTheImporter) {
  const Bytes file = read_or_die(golden_path("attention.onnx"));
  for (size_t at = 0; at < file.size(); at += 7) {
    Bytes damaged = file;
    damaged[at] ^= 0x55;
    const Result<model_import::ImportedModel> import = model_import::import_onnx(damaged);
    if (!import) ASSERT_NE(import.error().code(), ErrorCode::internal) << at;
    else ASSERT_OK(decode_model(import->model)) << at;
  }
}

// Bytes changed, left out and doubled. What is still a graph is imported to the end.
TEST(HostileOnnx, TwoThousandMutationsNeverBreakIt) {
  for (const char* const name : {"lenet_static.onnx", "lstm_last_state.onnx"}) {
    SCOPED_TRACE(name);
    const Bytes file = read_or_die(golden_path(name));
    std::mt19937_64 chance(7);
    size_t imported = 0;
    for (int i = 0; i < 2'000; ++i) {
      Bytes damaged = file;
      for (uint64_t changes = 1 + chance() % 3; changes > 0; --changes) {
        const auto at = static_cast<std::ptrdiff_t>(chance() % damaged.size());
        if (chance() % 8 == 0) damaged.erase(damaged.begin() + at);
        else if (chance() % 8 == 0) damaged.insert(damaged.begin() + at, damaged[static_cast<size_t>(at)]);
        else damaged[static_cast<size_t>(at)] = static_cast<uint8_t>(chance());
      }
      const Result<model_import::ImportedModel> import = model_import::import_onnx(damaged);
      if (!import) ASSERT_NE(import.error().code(), ErrorCode::internal) << i << ": " << import.error().message();
      else ++imported;
    }
    EXPECT_GT(imported, 0u);
    EXPECT_LT(imported, 2'000u);
  }
}

TEST(HostileOnnx, NodesThatFormACycle) {
  OnnxBuild build;
  build.input("x", {0, 4}).node("Add", {"x", "b"}, "a").node("Relu", {"a"}, "b");
  EXPECT_ERROR(build.import("b"), ErrorCode::malformed, "depends on its own output");
}

TEST(HostileOnnx, ValuesWrittenTwiceOrNever) {
  OnnxBuild twice;
  twice.input("x", {0, 4}).node("Relu", {"x"}, "y").node("Tanh", {"x"}, "y");
  EXPECT_ERROR(twice.import("y"), ErrorCode::malformed, "already written");
  OnnxBuild never;
  never.input("x", {0, 4}).node("Add", {"x", "ghost"}, "y");
  EXPECT_ERROR(never.import("y"), ErrorCode::malformed, "reads ghost, which nothing writes");
}

TEST(HostileOnnx, ShapesThatDoNotFit) {
  OnnxBuild channels;
  channels.input("x", {0, 3, 8, 8}).weight("w", {4, 5, 3, 3}).node("Conv", {"x", "w"}, "y");
  EXPECT_ERROR(channels.import("y"), ErrorCode::malformed, "its input has 3 channels, its weight is for 5");
  OnnxBuild kernel;
  kernel.input("x", {0, 3, 2, 2}).weight("w", {4, 3, 3, 3}).node("Conv", {"x", "w"}, "y");
  EXPECT_ERROR(kernel.import("y"), ErrorCode::malformed, "does not fit into an input of 2");
  OnnxBuild sums;
  sums.input("x", {0, 3}).weight("w", {4, 5}).node("Gemm", {"x", "w"}, "y");
  EXPECT_ERROR(sums.import("y"), ErrorCode::malformed, "must be 4");
}

TEST(HostileOnnx, ATensorLargerThanAnyMachine) {
  OnnxBuild build;
  build.input("x", {0, 4}).integers("to", {1 << 30, 1 << 30, 1 << 30}).node("Expand", {"x", "to"}, "y");
  EXPECT_FALSE(build.import("y"));
  OnnxBuild zeros;
  zeros.input("x", {0, 4})
      .integers("to", {1 << 30, 1 << 30})
      .node("ConstantOfShape", {"to"}, "z")
      .node("Add", {"x", "z"}, "y");
  EXPECT_ERROR(zeros.import("y"), ErrorCode::too_large, "2^26");
}

}  // namespace
}  // namespace coterie
