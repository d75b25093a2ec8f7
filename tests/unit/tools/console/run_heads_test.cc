#include "tools/console/run_heads.h"

#include <gtest/gtest.h>

#include "proto/messages/training_head.h"
#include "proto/messages/training_rules.h"

namespace coterie {
namespace {

using Words = std::vector<std::string>;

TEST(RunHeads, AreReadFromTheirColumnsWhereverTheseStand) {
  const RunHeads heads(Words{"round", "evaluation_mae.a,b", "evaluation_loss", "evaluation_loss.class",
                             "evaluation_loss.a,b", "evaluation_accuracy.class"});
  EXPECT_EQ(
      heads.in({"1", "0.5", "9", "nan", "0.25", "0.75"}),
      (std::vector<EvaluatedHead>{{.output = "a,b", .loss = 0.25, .mae = 0.5}, {.output = "class", .accuracy = 0.75}}));
  EXPECT_TRUE(RunHeads(Words{"round", "evaluation_loss"}).in({"1", "2"}).empty());
}

TEST(RunHeads, AreBounded) {
  Words header = {"evaluation_loss.", "evaluation_loss." + std::string(kPatternBytesMax + 1, 'x'), "evaluation_r2.a"};
  EXPECT_TRUE(RunHeads(header).in({"1", "2", "3"}).empty());
  header = {"evaluation_loss.a", "evaluation_loss.a"};
  EXPECT_EQ(RunHeads(header).in({"1", "2"}), (std::vector<EvaluatedHead>{{.output = "a", .loss = 1}}));
  Words many;
  for (size_t i = 0; i <= kHeadsMax; ++i) many.push_back("evaluation_loss." + std::to_string(i));
  many.push_back("evaluation_mae.0");
  EXPECT_EQ(RunHeads(many).in(Words(many.size(), "1")).size(), kHeadsMax);
  EXPECT_EQ(RunHeads(many).in(Words(many.size(), "1"))[0].mae, 1);
}

}  // namespace
}  // namespace coterie
