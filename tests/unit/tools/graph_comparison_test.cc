// coterie model compare with graphs, as a command.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/os/file.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/model_import/onnx/graphs.h"
#include "tests/unit/model_import/onnx/onnx_fixtures.h"
#include "tests/unit/model_import/weights/weight_files.h"
#include "tests/unit/tools/run_command.h"

namespace coterie::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class GraphCompareCommand : public ::testing::Test {
 protected:
  std::string written(const std::string& name, const Bytes& bytes) const {
    EXPECT_OK(os::write_file_atomically(folder_ / name, bytes));
    return folder_ / name;
  }
  static CommandOutcome compare(std::vector<std::string> words) {
    words.insert(words.begin(), {"model", "compare"});
    return run_command(words);
  }
  std::string path(const std::string& name) const { return folder_ / name; }

 private:
  TemporaryDirectory folder_;
};

// x A -> h, Abs, B -> y: its numbers in float16, or as they are.
Bytes two_layers(bool is_half) {
  OnnxBuild build;
  build.input("x", {0, 4}).weight("a", {4, 4}, 100).weight("b", {4, 2}, 300);
  const int64_t to = is_half ? 10 : 1;
  for (const char* name : {"x", "a", "b"}) build.node("Cast", {name}, std::string(name) + "_cast", {{"to", to}});
  build.node("MatMul", {"x_cast", "a_cast"}, "h").node("Abs", {"h"}, "r").node("MatMul", {"r", "b_cast"}, "wide");
  build.node("Cast", {"wide"}, "y", {{"to", int64_t{1}}});
  return build.bytes("y");
}

TEST_F(GraphCompareCommand, NamesTheLayerThatOverflowsFloat16) {
  const std::string half = written("half.onnx", two_layers(true)), plain = written("plain.onnx", two_layers(false));
  const CommandOutcome apart = compare({half, plain, "--tolerance", "0.01", "--html", path("page.html")});
  EXPECT_EQ(apart.code, ExitCode::failure) << apart.err;
  EXPECT_THAT(
      apart.out,
      HasSubstr("the first that is apart: wide (MatMul)\n  18 values are infinite where the reference is beyond "
                "65504, float16's largest\n"));
  EXPECT_THAT(apart.out, HasSubstr("inputs: 16 examples drawn at random, seed 1\n"));
  std::istringstream lines(apart.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  const Bytes page = read_or_die(path("page.html"));
  EXPECT_THAT(std::string(page.begin(), page.end()), HasSubstr("float16's largest"));
  EXPECT_EQ(compare({plain, plain, "--seed", "7"}).code, ExitCode::ok);
}

TEST_F(GraphCompareCommand, AGraphAndTheModelThatItBecameAgree) {
  const std::string graph = golden_path("lenet.onnx"), model = path("lenet.cotf");
  const CommandOutcome converted = run_command({"model", "convert", graph, "-o", model});
  if (converted.code != ExitCode::ok) GTEST_SKIP() << "an op is left out of this build";
  const CommandOutcome same = compare({model, graph, "--json", "--examples", "2"});
  EXPECT_EQ(same.code, ExitCode::ok) << same.out << same.err;
  const nlohmann::json json = nlohmann::json::parse(same.out);
  EXPECT_EQ(json["first_apart"], nullptr);
  EXPECT_EQ(json["inputs"], "2 examples drawn at random, seed 1");
  EXPECT_EQ(json["tensors"][0]["paired_by"], "layer");
  EXPECT_EQ(json["tensors"][0]["metrics"].size(), 13u);
}

TEST_F(GraphCompareCommand, TakesInputsByName) {
  const std::string half = written("half.onnx", two_layers(true)), plain = written("plain.onnx", two_layers(false));
  ZipBuild build;
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 4), }";
  header.resize(117, ' ');
  const std::array<float, 4> small = {0.125f, 0, 0, 0};
  const std::string bytes(reinterpret_cast<const char*>(small.data()), sizeof small);
  build.member("x.npy", "\x93NUMPY" + little(1, 1) + little(0, 1) + little(118, 2) + header + "\n" + bytes);
  const std::string inputs = written("x.npz", build.finish());
  const CommandOutcome fine = compare({half, plain, "--tolerance", "0.01", "--inputs", inputs});
  EXPECT_EQ(fine.code, ExitCode::ok) << fine.out << fine.err;
  EXPECT_THAT(fine.out, HasSubstr("inputs: those of "));
}

TEST_F(GraphCompareCommand, WhatCannotBeComparedIsUsage) {
  const Bytes whole = two_layers(false);
  const std::string plain = written("plain.onnx", whole);
  const std::string cut = written("cut.onnx", Bytes(whole.begin(), whole.begin() + 40));
  const std::string other = golden_path("mlp.onnx");
  const auto expect_usage = [](const CommandOutcome& outcome, const std::string& why) {
    EXPECT_EQ(outcome.code, ExitCode::usage);
    EXPECT_THAT(outcome.err, HasSubstr(why));
  };
  expect_usage(compare({plain, cut}), cut);
  expect_usage(compare({plain, other}), "the graph declares");
  expect_usage(compare({plain, plain, "--data", "digits"}), "--inputs FILE");
  expect_usage(compare({plain, plain, "--inputs", path("nowhere.npz")}), "nowhere.npz");
  const std::string model = path("m.cotf");
  ASSERT_EQ(run_command({"model", "new", "mlp", "--input", "4", "-o", model}).code, ExitCode::ok);
  expect_usage(compare({model, model, "--inputs", plain}), "--inputs is for graphs");
}

}  // namespace
}  // namespace coterie::test
