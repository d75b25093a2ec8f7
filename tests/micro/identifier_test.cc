#include "tools/micro/identifier.h"

#include <gtest/gtest.h>

namespace coterie::test {
namespace {

TEST(MicroNames, APrefixIsASmallIdentifierWhateverTheName) {
  EXPECT_EQ(micro_prefix("lenet5"), "lenet5");
  EXPECT_EQ(micro_prefix("My Net/v2"), "my_net_v2");
  EXPECT_EQ(micro_prefix("2fast"), "model_2fast");
  EXPECT_EQ(micro_prefix("../../etc/passwd"), "etc_passwd");
  EXPECT_EQ(micro_prefix("__init__"), "init");
  EXPECT_EQ(micro_prefix(""), "model");
  EXPECT_EQ(micro_prefix("\xc3\xa4\xff*/\n"), "model");
  EXPECT_EQ(micro_prefix(std::string(500, 'x')), std::string(31, 'x'));
  EXPECT_EQ(micro_prefix("stdint"), "stdint_model");      // stdint.h is the compiler's
  EXPECT_EQ(micro_prefix("Features"), "features_model");  // glibc's stdint.h includes features.h
  EXPECT_EQ(micro_prefix("con"), "con_model");            // Windows has no con.h
  EXPECT_EQ(micro_prefix("features2"), "features2");
}

TEST(MicroNames, ACommentEndsWhereItShould) {
  EXPECT_EQ(micro_comment("features.0:conv-1"), "features.0:conv-1");
  EXPECT_EQ(micro_comment("*/ int main(void) { /*"), "___int_main_void______");
  EXPECT_EQ(micro_comment("a\\\nb?\?/"), "a__b___");
  EXPECT_EQ(micro_comment(std::string(500, 'x')).size(), 64u);
}

TEST(MicroNames, EachIsGivenOnce) {
  MicroNames names;
  EXPECT_EQ(names.unique("conv1.weight"), "conv1_weight");
  EXPECT_EQ(names.unique("conv1/weight"), "conv1_weight_2");
  EXPECT_EQ(names.unique("conv1_weight_2"), "conv1_weight_2_2");
  EXPECT_EQ(names.unique("Conv1.weight"), "Conv1_weight");
}

}  // namespace
}  // namespace coterie::test
