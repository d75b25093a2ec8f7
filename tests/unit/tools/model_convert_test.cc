// coterie model convert as a command, of graphs in int8: what --verify says, in both forms and by the exit code.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "device_sdk/runtime/int8/int8_model.h"
#include "model_import/onnx/read_onnx.h"
#include "tests/support/paths.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/model_import/onnx/graphs.h"
#include "tests/unit/model_import/onnx/onnx_fixtures.h"
#include "tests/unit/tools/run_command.h"
#include "tests/unit/tools/terminal_width.h"
#include "tools/model/int8_conversion.h"

namespace coterie::test {
namespace {

using model_import::Element;
using model_import::Width;
using ::testing::HasSubstr;
using ::testing::Not;

// x -> Gemm -> y, weights as integers, both activations on grids of their own.
OnnxBuild qdq(float input_scale = .031f, int64_t weight = 90) {
  OnnxBuild build;
  const auto integers = [&](const std::string& name, Width width, Shape shape, const std::vector<int64_t>& values) {
    model_import::HostTensor tensor;
    tensor.element = Element::integer;
    tensor.width = width;
    tensor.shape = std::move(shape);
    for (const int64_t value : values) tensor.integers.push_back({value, false});
    build.graph.constants[name] = {std::move(tensor), false};
  };
  const auto real = [&](const std::string& name, float value) {
    model_import::HostTensor tensor;
    tensor.reals = {value};
    build.graph.constants[name] = {std::move(tensor), false};
  };
  build.input("x", {0, 3});
  real("s_x", input_scale), real("s_w", .0171f), real("s_y", .0873f * input_scale / .031f);
  integers("z_x", Width::int8, {}, {3}), integers("z_w", Width::int8, {}, {0}), integers("z_y", Width::int8, {}, {-5});
  integers("w", Width::int8, {3, 2}, {weight, -40, 17, 66, -101, 8});
  build.node("QuantizeLinear", {"x", "s_x", "z_x"}, "xq").node("DequantizeLinear", {"xq", "s_x", "z_x"}, "xd");
  build.node("DequantizeLinear", {"w", "s_w", "z_w"}, "wd").node("Gemm", {"xd", "wd"}, "gemm");
  build.node("QuantizeLinear", {"gemm", "s_y", "z_y"}, "yq").node("DequantizeLinear", {"yq", "s_y", "z_y"}, "y");
  return build;
}

Int8Model model_of(OnnxBuild build) {
  Result<Int8Model> model = open_int8_model(build.import("y")->model);
  EXPECT_OK(model);
  return std::move(*model);
}

// A graph that flattens an image with its channels last, as an export of ours does, and weights in the order of ONNX:
// whether they are that graph's or PyTorch's is to be said.
TEST(LoadWeightsCommand, RowsOfAnOnnxGraphThatFlattensChannelsLastAreAsked) {
  const TemporaryDirectory folder;
  const std::string model = folder / "net.cotf", graph = folder / "net.onnx", weights = folder / "w.safetensors",
                    out = folder / "out.cotf";
  ASSERT_EQ(run_command({"model", "new", "cnn", "--input", "8x8x1", "-o", model}).code, ExitCode::ok);
  ASSERT_EQ(run_command({"model", "export", model, "-o", graph}).code, ExitCode::ok);
  ASSERT_EQ(run_command({"model", "convert", graph, "-o", model}).code, ExitCode::ok);
  const Result<model_import::Graph> read = model_import::read_onnx(read_or_die(graph));
  ASSERT_OK(read);
  nlohmann::json header;
  std::string data;
  for (const auto& [name, constant] : read->constants) {
    if (!name.ends_with(".weight") && !name.ends_with(".bias")) continue;
    const size_t bytes = constant.tensor.reals.size() * sizeof(float);
    header[name] = {
        {"dtype", "F32"}, {"shape", constant.tensor.shape}, {"data_offsets", {data.size(), data.size() + bytes}}};
    data.append(reinterpret_cast<const char*>(constant.tensor.reals.data()), bytes);
  }
  const std::string text = header.dump();
  const uint64_t size = text.size();
  const std::string file = std::string(reinterpret_cast<const char*>(&size), sizeof size) + text + data;
  ASSERT_OK(os::write_file_atomically(weights, as_bytes(file)));
  const std::vector<std::string> words = {"model", "load-weights", graph, weights, "-o", out};
  const CommandOutcome asked = run_command(words);
  EXPECT_EQ(asked.code, ExitCode::failure);
  EXPECT_THAT(asked.out, HasSubstr("dense1.weight"));
  EXPECT_THAT(asked.err, HasSubstr("--rows how rows lie"));
  expect_80_columns(asked.out);
  EXPECT_FALSE(os::exists(out));
  const auto loaded = [&](const std::string& rows) {
    std::vector<std::string> said = words;
    said.insert(said.end(), {"--rows", rows});
    const CommandOutcome done = run_command(said);
    EXPECT_EQ(done.code, ExitCode::ok) << done.err;
    return read_or_die(out) == read_or_die(model);
  };
  EXPECT_TRUE(loaded("as-graph"));
  EXPECT_FALSE(loaded("channels-first"));
}

class ModelConvertCommand : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(os::write_file_atomically(path("net.onnx"), qdq().bytes("y"))); }
  std::string path(const std::string& name) const { return folder_ / name; }
  CommandOutcome convert(std::vector<std::string> words) const {
    words.insert(words.begin(), {"model", "convert", path("net.onnx")});
    return run_command(words);
  }

 private:
  TemporaryDirectory folder_;
};

TEST_F(ModelConvertCommand, SaysHowAFileInInt8WasVerified) {
  const CommandOutcome said = convert({"-o", path("net.cotf"), "--verify"});
  ASSERT_EQ(said.code, ExitCode::ok) << said.out << said.err;
  EXPECT_THAT(said.out,
              HasSubstr("conversion beside the ONNX graph: 24 random examples,\n  0 of 48 numbers more than"));
  EXPECT_THAT(said.out, Not(HasSubstr("BATCH"))) << "a table without a line";
  const nlohmann::json json = nlohmann::json::parse(convert({"-o", path("net.cotf"), "--verify", "--json"}).out);
  EXPECT_EQ(json["conversion"]["agrees"], true);
  EXPECT_EQ(json["conversion"]["numbers"], 48);
  EXPECT_EQ(json["conversion"]["numbers_apart"], 0);
  EXPECT_LE(json["conversion"]["absolute_difference"].get<double>(), json["conversion"]["step"].get<double>());
  EXPECT_FALSE(nlohmann::json::parse(convert({"-o", path("net.cotf"), "--json"}).out).contains("conversion"));
}

// Whatever the file is called.
TEST_F(ModelConvertCommand, SaysHowATfliteFileWasVerified) {
  for (const std::string& seed : {"hand-floats", "hand-int8"}) {
    const std::string file = source_dir() + "/tests/fuzz/corpus/tflite/" + seed;
    const CommandOutcome said = run_command({"model", "convert", file, "-o", path("lite.cotf"), "--verify"});
    ASSERT_EQ(said.code, ExitCode::ok) << said.out << said.err;
    EXPECT_THAT(said.out, HasSubstr("conversion beside the TFLite graph: "));
    EXPECT_THAT(said.out, HasSubstr("model beside the file itself, computed as TensorFlow Lite does:\n  24 random"));
    const CommandOutcome json = run_command({"model", "convert", file, "-o", path("lite.cotf"), "--verify", "--json"});
    EXPECT_EQ(nlohmann::json::parse(json.out)["file"]["agrees"], true);
  }
}

TEST_F(ModelConvertCommand, TakesAFileOfMindSporeLite) {
  const std::string file = source_dir() + "/tests/fuzz/corpus/mslite/hand-net";
  const CommandOutcome said = run_command({"model", "convert", file, "-o", path("ms.cotf"), "--verify"});
  ASSERT_EQ(said.code, ExitCode::ok) << said.out << said.err;
  EXPECT_THAT(said.out, HasSubstr("conversion beside the MindSpore Lite graph: 3 random examples, output y:"));
}

TEST_F(ModelConvertCommand, TheModelIsNotTheGraph) {
  const CommandOutcome said = convert({"-o", path("./net.onnx")});
  EXPECT_EQ(said.code, ExitCode::usage);
  EXPECT_THAT(said.err, HasSubstr("-o names a file that has another purpose"));
}

TEST(Int8Conversion, FindsAnotherWeightWhateverTheInputsGrid) {
  for (const float scale : {.0001f, .031f, 70.0f}) {
    SCOPED_TRACE(scale);
    const Int8Model model = model_of(qdq(scale));
    const Result<Int8Conversion> same = check_int8_conversion(qdq(scale).sorted("y"), {}, model);
    ASSERT_OK(same);
    EXPECT_TRUE(same->agrees()) << same->largest << " of steps of " << same->step;
    const Result<Int8Conversion> other = check_int8_conversion(qdq(scale, -90).sorted("y"), {}, model);
    ASSERT_OK(other);
    EXPECT_FALSE(other->agrees());
  }
}

// However few are apart: a tie moves an answer by a step or two.
TEST(Int8Conversion, ALargeDifferenceIsNoTie) {
  Int8Conversion result{.examples = 100, .numbers = 1000, .apart = 1, .largest = .15, .step = .1};
  EXPECT_TRUE(result.agrees());
  result.largest = .81;
  EXPECT_FALSE(result.agrees());
  result.largest = .15, result.apart = 21;
  EXPECT_FALSE(result.agrees());
}

}  // namespace
}  // namespace coterie::test
