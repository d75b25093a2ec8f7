// A party of a split network with a journal, and a peer that comes back with what it said, or with something else.
#include "tests/support/temporary_directory.h"
#include "tests/unit/vertical_split/split_pair.h"
#include "tools/vertical/journaled_stages.h"

namespace coterie::vertical {
namespace {

using test::SplitJob;
using test::SplitPair;

class JournaledSplitTest : public ::testing::TestWithParam<PartyIndex> {
 protected:
  PartyIndex honest() const { return GetParam(); }

  // From checkpoints behind `unit` steps, until so many messages have come to the honest party or it errs.
  Status train(const SplitJob& job, uint32_t unit, size_t messages) {
    COT_ASSIGN(PartyJournal journal,
               PartyJournal::open(directory_ / "journal", {.job = {1}, .manifest = {}, .inputs = {}}));
    std::array<SplitCheckpoint, 2> from;
    if (const JournalCheckpoint* const kept = journal.checkpoint(unit)) {
      COT_ASSIGN(from[honest()], read_split_checkpoint(kept->bytes));
      EXPECT_EQ(kept->state, from[honest()].said);
    }
    for (const SplitCheckpoint& kept : others_) {
      if (kept.steps == unit) from[1 - honest()] = kept;
    }
    SplitPair pair(job, from);
    JournaledSplit journaled(pair.party(honest()), journal);
    std::array<Stage*, 2> stages = {&pair.party(0), &pair.party(1)};
    stages[honest()] = &journaled;
    for (bool moved = true; moved;) {
      moved = false;
      for (const PartyIndex from_party : {1u, 0u}) {
        while (std::optional<Message> message = stages[from_party]->next()) {
          const PartyIndex to = 1 - from_party;
          message->peer = from_party;
          COT_TRY(stages[to]->receive(*message));
          if (to != honest()) {
            if (auto checkpoint = pair.party(to).take_checkpoint()) others_.push_back(std::move(*checkpoint));
          } else if (--messages == 0) {
            return {};
          }
          moved = true;
        }
      }
    }
    return {};
  }

  coterie::test::TemporaryDirectory directory_{coterie::test::memory_disk()};
  std::vector<SplitCheckpoint> others_;
};

TEST_P(JournaledSplitTest, GoesOnAndAnswersNothingElse) {
  SplitJob job = test::small_job(SplitNetwork::mlp);
  job.settings.in_flight = 2;  // 16 steps, a checkpoint each 4
  ASSERT_OK(train(job, 0, 3));
  ASSERT_OK(train(job, 0, 7)) << "from the begin once more, and behind the first checkpoint";
  ASSERT_EQ(others_.at(0).steps, 4u);
  const std::vector<SplitCheckpoint> kept = others_;
  for (SplitCheckpoint& of_peer : others_) of_peer.state[0] += 0.5f;
  const Status refused = train(job, 4, SIZE_MAX);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason(), "replay_differs");
  others_ = kept;
  ASSERT_OK(train(job, 4, SIZE_MAX)) << "as it was before";
}

INSTANTIATE_TEST_SUITE_P(Parties, JournaledSplitTest, ::testing::Values(0u, 1u),
                         [](const auto& info) { return info.param == 0 ? "Label" : "Feature"; });

}  // namespace
}  // namespace coterie::vertical
