#include "tools/debug/command.h"

#include <gmock/gmock.h>

#include <sstream>

#include "tests/support/matchers.h"

namespace coterie::test {
namespace {

using ::testing::HasSubstr;

DebugCommand parsed(std::string_view line) {
  const Result<std::optional<DebugCommand>> command = parse_debug_command(line);
  EXPECT_OK(command);
  EXPECT_TRUE(command && *command) << line;
  return command && *command ? **command : DebugCommand{};
}

std::string refusal(std::string_view line) {
  const Result<std::optional<DebugCommand>> command = parse_debug_command(line);
  EXPECT_FALSE(command) << line;
  return command ? "" : command.error().message();
}

TEST(DebugCommand, EmptyLinesAreNone) {
  for (const char* line : {"", "   ", "\t\r"}) {
    const Result<std::optional<DebugCommand>> command = parse_debug_command(line);
    ASSERT_OK(command);
    EXPECT_FALSE(*command);
  }
}

TEST(DebugCommand, MovesTakeNumbers) {
  EXPECT_EQ(parsed("step").number, std::nullopt);
  EXPECT_EQ(parsed("  s 12 ").number, 12u);
  EXPECT_EQ(parsed("continue").verb, DebugVerb::proceed);
  for (const char* line : {"run to step 7", "run to 7", "run 7", "r step 7"}) {
    EXPECT_EQ(parsed(line).verb, DebugVerb::run) << line;
    EXPECT_EQ(parsed(line).number, 7u) << line;
  }
  EXPECT_EQ(parsed("run 0").number, 0u);
  EXPECT_EQ(parsed("back 3").verb, DebugVerb::back);
}

TEST(DebugCommand, NumbersThatAreNoneAreRefused) {
  for (const char* line : {"step 0", "step -1", "step 1.5", "step 4294967296", "step 99999999999999999999999", "run x",
                           "back 0", "unwatch 0"}) {
    EXPECT_THAT(refusal(line), HasSubstr("expected a whole number from ")) << line;
  }
  EXPECT_THAT(refusal("run"), HasSubstr("expected `run to step N`"));
  EXPECT_THAT(refusal("step 1 2"), HasSubstr("expected `step [N]`"));
  EXPECT_THAT(refusal("quit now"), HasSubstr("expected `quit`"));
}

TEST(DebugCommand, TensorsMayHaveSlicesWithBlanksAndNamesInQuotes) {
  const DebugCommand print = parsed("print conv1.weight[0, :3, 2]");
  EXPECT_EQ(print.tensor, "conv1.weight");
  EXPECT_EQ(print.slice, "0, :3, 2");
  const DebugCommand quoted = parsed("p \"tensor 7\"[1]");
  EXPECT_EQ(quoted.tensor, "tensor 7");
  EXPECT_EQ(quoted.slice, "1");
  const DebugCommand save = parsed("save conv1[..., 0] \"a file.npy\"");
  EXPECT_EQ(save.slice, "..., 0");
  EXPECT_EQ(save.file, "a file.npy");
  EXPECT_EQ(parsed("list tensors conv*").tensor, "conv*");
  EXPECT_EQ(parsed("where").tensor, "");
  EXPECT_THAT(refusal("print conv1[0"), HasSubstr("not closed"));
  EXPECT_THAT(refusal("print \"conv1"), HasSubstr("quotation mark"));
  EXPECT_THAT(refusal("stats conv1[0]"), HasSubstr("expected `stats T`"));
  EXPECT_THAT(refusal("save conv1"), HasSubstr("expected `save T FILE.npy`"));
  EXPECT_THAT(refusal("stats"), HasSubstr("expected `stats T`"));
}

TEST(DebugCommand, AWatchHasAPatternAndSettings) {
  const DebugCommand watch = parsed("watch weight_change_too_large on conv* ratio_above 0.5 from_step 20");
  EXPECT_EQ(watch.check, "weight_change_too_large");
  EXPECT_EQ(watch.tensor, "conv*");
  ASSERT_EQ(watch.settings.size(), 2u);
  EXPECT_EQ(watch.settings[0].name, "ratio_above");
  EXPECT_EQ(watch.settings[0].value, 0.5);
  const DebugCommand alone = parsed("w dead_relu 0.9");
  ASSERT_EQ(alone.settings.size(), 1u);
  EXPECT_EQ(alone.settings[0].name, "");
  EXPECT_EQ(parsed("watch").check, "");
  EXPECT_THAT(refusal("watch dead_relu on"), HasSubstr("pattern"));
  EXPECT_THAT(refusal("watch dead_relu steps"), HasSubstr("needs a number"));
  EXPECT_THAT(refusal("watch dead_relu steps x"), HasSubstr("`x` is no number"));
  EXPECT_FALSE(parse_debug_command("watch dead_relu nan"));
  EXPECT_FALSE(parse_debug_command("watch dead_relu steps 1e999"));
}

TEST(DebugCommand, AMistypedOneIsSuggested) {
  EXPECT_THAT(refusal("contiune"), HasSubstr("Did you mean `continue`?"));
  EXPECT_THAT(refusal("x"), HasSubstr("`help` lists them"));
}

TEST(DebugCommand, ALineHasALimit) {
  EXPECT_ERROR(parse_debug_command(std::string(kDebugLineBytesMax + 1, 's')), ErrorCode::too_large, "at most");
}

TEST(DebugCommand, HelpFitsTheTerminal) {
  std::istringstream lines(debug_help());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
}

}  // namespace
}  // namespace coterie::test
