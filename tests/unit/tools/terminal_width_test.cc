#include "tests/unit/tools/terminal_width.h"

#include "base/os/file.h"
#include "device_sdk/runtime/model_builder.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/tools/run_command.h"
#include "tools/cli/table.h"

namespace coterie::test {
namespace {

TEST(TerminalWidth, WhatIsSaidOfAModelFits) {
  const TemporaryDirectory folder;
  const std::string model = folder / "net.cotf", small = folder / "small.cotf", chart = folder / "roofline.svg";
  ASSERT_EQ(run_command({"model", "new", "lenet5", "--input", "28x28x1", "--classes", "1000", "-o", model}).code,
            ExitCode::ok);
  const std::vector<std::vector<std::string>> commands = {
      {"inspect", model},
      {"profile", model, "--steps", "1", "--roofline", "--peak-gflops", "46.2", "--memory-gbps", "18.1", "--svg",
       chart},
      {"optimise", model, "-o", folder / "fast.cotf"},
      {"compare", model, folder / "fast.cotf"}};
  for (std::vector<std::string> words : commands) {
    words.insert(words.begin(), "model");
    const CommandOutcome said = run_command(words);
    EXPECT_NE(said.code, ExitCode::usage) << said.err;
    expect_80_columns(said.out);
  }
}

// What it says of the file is in its last line.
TEST(TerminalWidth, WhatTrainingInBfloat16SaysFits) {
  const TemporaryDirectory folder;
  const std::string model = folder / "net.cotf";
  ASSERT_EQ(run_command({"model", "new", "mlp", "--input", "8x8x1", "-o", model}).code, ExitCode::ok);
  const CommandOutcome said = run_command({"model", "train", model, "--data", "digits", "--epochs", "1", "--quiet",
                                           "--storage", "bf16", "--micro-batch", "16", "-o", folder / "out.cotf"});
  EXPECT_EQ(said.code, ExitCode::ok) << said.err;
  EXPECT_EQ(said.out.rfind("trained for", 0), 0u) << said.out;
  EXPECT_LE(said.out.find('\n'), 80u) << said.out;
  expect_80_columns(said.out);
}

TEST(TerminalWidth, WhatQuantisingSaysFits) {
  const TemporaryDirectory folder;
  const std::string model = folder / "net.cotf";
  ASSERT_EQ(run_command({"model", "new", "mlp", "--input", "8x8x1", "-o", model}).code, ExitCode::ok);
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--full"}}) {
    std::vector<std::string> words = {"model", "quantise",   model,  "--data", "digits",         "--calibration",
                                      "20",    "--max-drop", "100%", "-o",     folder / "q.cotf"};
    words.insert(words.end(), more.begin(), more.end());
    const CommandOutcome said = run_command(words);
    EXPECT_EQ(said.code, ExitCode::ok) << said.err;
    expect_80_columns(said.out);
  }
}

TEST(TerminalWidth, ATableCutsNamesAndKeepsTheirEnds) {
  Table table({{"NAME"}, {"VALUE", Table::Align::right}});
  table.add({"encoder/layers.11/attention/weight", "1.25"});
  table.add({"short", "2"});
  EXPECT_EQ(table.text_within(20), "NAME           VALUE\nencod..weight   1.25\nshort              2\n");
  EXPECT_EQ(table.text_within(80), table.text());
  EXPECT_EQ(table.text_within(5), "NAME      VALUE\nenc..ght   1.25\nshort         2\n") << "8 columns at least";
}

// Names as exporters make them.
TEST(TerminalWidth, LongNamesOfAQuantisedModelFit) {
  const TemporaryDirectory folder;
  const std::string model = folder / "net.cotf";
  ModelBuilder build("net", {8, 8, 1}, 3);
  const std::string deep = "encoder/layers.11/attention/output/";
  TensorId x = build.flatten(build.input());
  for (const char* const name : {"query", "dense"}) {
    const TensorId weight = build.parameter(deep + name + "/MatMul.weight", {64, 64}, std::vector<float>(4096, .01f));
    const TensorId bias = build.parameter(deep + name + ".bias", {64}, std::vector<float>(64, .1f));
    x = build.op(OpKind::dense, {x, weight, bias});
  }
  const Result<Bytes> file = build.finish(build.dense(x, 10));
  ASSERT_OK(file);
  ASSERT_OK(os::write_file_atomically(model, *file));
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--full"}, {"--bits", "auto"}}) {
    std::vector<std::string> words = {"model", "quantise",   model,  "--data", "digits",         "--calibration",
                                      "20",    "--max-drop", "100%", "-o",     folder / "q.cotf"};
    words.insert(words.end(), more.begin(), more.end());
    const CommandOutcome said = run_command(words);
    EXPECT_EQ(said.code, ExitCode::ok) << said.err;
    expect_80_columns(said.out);
  }
}

}  // namespace
}  // namespace coterie::test
