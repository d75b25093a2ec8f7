// A matching that is cut off anywhere goes on behind the last bucket that both parties have, with the rows that an
// undisturbed one has.
#include <gtest/gtest.h>

#include "tests/support/matchers.h"
#include "tests/unit/vertical/psi_pair.h"

namespace coterie::test {
namespace {

using vertical::MatchedBuckets;

// Behind so many buckets, of what a party kept of each.
MatchedBuckets behind(const std::vector<MatchedBuckets>& kept, size_t buckets) {
  MatchedBuckets all;
  for (size_t i = 0; i < buckets; ++i) {
    std::vector<uint32_t> rows = std::move(all.rows);
    rows.insert(rows.end(), kept[i].rows.begin(), kept[i].rows.end());
    all = kept[i];
    all.rows = std::move(rows);
  }
  return all;
}

TEST(MatchingResume, EndsWithTheSameRowsWhereverItWasCutOff) {
  const auto x = numbered_ids(40), y = numbered_ids(30, 2);
  const auto settings = psi_settings(8);
  PsiPair whole(x, y, settings);
  ASSERT_OK(whole.run());
  size_t resumed = 0;
  for (size_t cut = 1; cut < whole.transcript.size(); ++cut) {
    PsiPair first(x, y, settings);
    ASSERT_OK(first.run(cut));
    const auto& [label, feature] = first.checkpoints;
    ASSERT_GE(label.size(), feature.size()) << cut;
    ASSERT_LE(label.size(), feature.size() + 1) << "the parties are at most one bucket apart";
    const size_t common = feature.size();
    if (common > 0) EXPECT_EQ(label[common - 1].root, feature.back().root);
    PsiPair second(x, y, settings, {behind(label, common), behind(feature, common)});
    ASSERT_OK(second.run());
    EXPECT_EQ(second.label->matched_rows(), whole.label->matched_rows()) << cut;
    EXPECT_EQ(second.feature->matched_rows(), whole.feature->matched_rows()) << cut;
    EXPECT_EQ(second.label->outcome(), whole.label->outcome());
    EXPECT_TRUE(common == 0 || second.transcript.size() < whole.transcript.size()) << "a bucket is not done again";
    resumed += common > 0 ? 1 : 0;
  }
  EXPECT_GT(resumed, 5u);
}

TEST(MatchingResume, RefusesWhatIsOfAnotherMatching) {
  const auto x = numbered_ids(40), y = numbered_ids(30, 2);
  PsiPair whole(x, y, psi_settings(8));
  ASSERT_OK(whole.run());
  MatchedBuckets many = behind(whole.checkpoints[0], whole.checkpoints[0].size()), greedy = many;
  ++many.buckets;
  greedy.peer_items = 31;
  for (const MatchedBuckets& from : {many, greedy}) {
    EXPECT_ERROR(PsiPair(x, y, psi_settings(8), {from, {}}).run(), ErrorCode::data_loss, "cannot go on");
  }
}

}  // namespace
}  // namespace coterie::test
