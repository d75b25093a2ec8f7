// The label party of an exact regression with a journal, and a feature party that comes back with what it said, or with
// something else.
#include <array>
#include <optional>

#include "tests/support/temporary_directory.h"
#include "tests/unit/vertical_exact/exact_pair.h"
#include "tools/vertical/journaled_stages.h"
#include "vertical/exact/exact_messages.h"

namespace coterie::vertical {
namespace {

using test::ExactJob;
using test::ExactPair;

// The label party is honest and keeps a journal; the feature party is whoever it likes to be.
class JournaledExactTest : public ::testing::Test {
 protected:
  // From checkpoints behind `unit` steps, until the label party has said the residuals of `residuals` steps or it errs.
  template <typename Change>
  Status train(uint32_t unit, size_t residuals, Change change) {
    COT_ASSIGN(PartyJournal journal,
               PartyJournal::open(directory_ / "journal", {.job = {1}, .manifest = {}, .inputs = {}}));
    std::array<ExactCheckpoint, 2> from;
    if (const JournalCheckpoint* const kept = journal.checkpoint(unit)) {
      COT_ASSIGN(from[0], read_exact_checkpoint(kept->bytes));
      EXPECT_EQ(kept->state, from[0].said);
    }
    for (const ExactCheckpoint& kept : others_) {
      if (kept.steps == unit) from[1] = kept;
    }
    ExactPair pair(job_, ++meeting_, from);
    JournaledExact journaled(*pair.party[0], journal);
    const std::array<Stage*, 2> stages = {&journaled, pair.party[1].get()};
    for (bool moved = true; moved;) {
      moved = false;
      for (const PartyIndex sender : {0u, 1u}) {
        while (std::optional<Message> message = stages[sender]->next()) {
          message->peer = sender;
          if (sender == 0 && message->kind == static_cast<uint16_t>(ExactMessage::residuals) && residuals-- == 0)
            return {};
          if (sender == 1) change(*message);
          COT_TRY(stages[1 - sender]->receive(*message));
          if (auto checkpoint = pair.party[1]->take_checkpoint()) others_.push_back(std::move(*checkpoint));
          moved = true;
        }
      }
    }
    return {};
  }
  Status train(uint32_t unit, size_t residuals) {
    return train(unit, residuals, [](Message&) {});
  }

  coterie::test::TemporaryDirectory directory_{coterie::test::memory_disk()};
  ExactJob job_;
  uint8_t meeting_ = 0;
  std::vector<ExactCheckpoint> others_;
};

TEST_F(JournaledExactTest, GoesOnUnderNewKeysAndAnswersNoOtherMargins) {
  ASSERT_OK(train(0, 2));
  ASSERT_OK(train(0, 6)) << "from the begin once more, and behind the first checkpoint";
  ASSERT_EQ(others_.at(0).steps, 4u);
  const std::vector<ExactCheckpoint> kept = others_;
  others_[0].weights[0] += 0.5;
  const Status refused = train(4, SIZE_MAX);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason(), "replay_differs");
  others_ = kept;
  ASSERT_OK(train(4, SIZE_MAX)) << "as it was before";
}

TEST_F(JournaledExactTest, TakesNoOtherNumberOfColumns) {
  ASSERT_OK(train(0, 1));
  const Status refused = train(0, SIZE_MAX, [](Message& message) {
    if (message.kind == static_cast<uint16_t>(ExactMessage::ready)) message.payload[0] = 1;
  });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason(), "replay_differs");
}

}  // namespace
}  // namespace coterie::vertical
