#include "tests/unit/tools/terminal_width.h"

#include "tests/support/temporary_directory.h"
#include "tests/unit/tools/run_command.h"

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

}  // namespace
}  // namespace coterie::test
