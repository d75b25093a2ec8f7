// What a run's summary says, and what broken and hostile ones come to.
#include <gmock/gmock.h>

#include "tests/support/matchers.h"
#include "tools/model_report/run_facts.h"

namespace coterie::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(RunFacts, AreWhatTheSummarySays) {
  const Result<RunFacts> facts = parse_run_facts(
      R"({"schema":"coterie.demo.v1","rounds":5,"data":"digits","learning_rate":0.1,"security":"active",
          "model_digest":"ab","run_dir":"/runs/one","model_path":"/runs/one/model.cotf","phases":{"rounds":1},
          "privacy":{"epsilon":2.5,"delta":1e-05,"accountant":"pld","ledger_head":"cd"},
          "own":{"devices":20,"published":{"accuracy":0.9,"worst_tenth":0.6}}})");
  ASSERT_OK(facts);
  EXPECT_EQ(facts->model_digest, "ab");
  EXPECT_EQ(facts->security, "active");
  EXPECT_THAT(facts->job, ElementsAre(Pair("data", "digits"), Pair("learning_rate", "0.1"), Pair("rounds", "5")));
  EXPECT_THAT(facts->privacy, Contains(Pair("epsilon", "2.5")));
  EXPECT_THAT(facts->privacy, Contains(Pair("accountant", "pld")));
  EXPECT_DOUBLE_EQ(*facts->delta, 1e-5);
  EXPECT_EQ(facts->ledger_head, "cd");
  ASSERT_TRUE(facts->own);
  EXPECT_DOUBLE_EQ(facts->own->worst_tenth, 0.6);
}

TEST(RunFacts, OthersAreRefusedOrLeftOut) {
  for (const char* text : {"", "[]", "{", "7", "{\"a\":1}}", "null"}) {
    EXPECT_EQ(parse_run_facts(text).error().code(), ErrorCode::malformed) << text;
  }
  const Result<RunFacts> odd = parse_run_facts(R"({"model_digest":7,"security":[],"privacy":"none"})");
  ASSERT_OK(odd);
  EXPECT_EQ(odd->model_digest, "");
  EXPECT_EQ(odd->security, "");
  EXPECT_EQ(odd->ledger_head, "");
  EXPECT_FALSE(odd->own);
  EXPECT_THAT(odd->privacy, IsEmpty());
  std::string many = "{";
  for (int i = 0; i < 500; ++i) many += (i == 0 ? "" : ",") + std::string("\"k") + std::to_string(i) + "\":1";
  EXPECT_EQ(parse_run_facts(many + "}")->job.size(), kRunFactsMax);
  EXPECT_FALSE(read_run_facts("/nowhere"));
}

}  // namespace
}  // namespace coterie::test
