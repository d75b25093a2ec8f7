#include "tools/cli/profile_table.h"

#include <gmock/gmock.h>

#include <sstream>

namespace coterie {
namespace {

using testing::HasSubstr;

std::vector<OpTime> some_ops() {
  std::vector<OpTime> ops(3);
  ops[0].name = "features.0.conv.\x1b[2J.depthwise.with.a.name.that.is.as.long.as.those.of.exporters";
  ops[0].kind = "conv2d";
  ops[0].forward_seconds = 0.012345678;
  ops[0].backward_seconds = 0.987654321;
  ops[0].forward_flops = 1.5e7;
  ops[0].algorithm = "winograd_f4";
  ops[1].name = "pool";
  ops[1].kind = "average_pool2d";
  ops[1].forward_seconds = 0.25;
  ops[2].name = "conv2";
  ops[2].kind = "conv2d";
  ops[2].forward_seconds = 0.75;
  return ops;
}

TEST(ProfileTable, HasLinesOf80ColumnsWhateverOpsAreCalled) {
  const std::string text = ops_table(some_ops());
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  EXPECT_THAT(text, HasSubstr("\nfea..ers  conv2d ")) << "the end tells names apart";
  EXPECT_THAT(text, HasSubstr("pool  "));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(ProfileTable, HasAKindOnceTheLongestFirst) {
  const std::string text = kinds_table(some_ops());
  EXPECT_LT(text.find("conv2d"), text.find("average_pool2d"));
  EXPECT_EQ(text.find("conv2d"), text.rfind("conv2d"));
  EXPECT_THAT(text, HasSubstr("87.5 %"));
  EXPECT_THAT(text, HasSubstr("12.5 %"));
}

}  // namespace
}  // namespace coterie
