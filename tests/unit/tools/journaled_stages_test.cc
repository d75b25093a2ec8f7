// A party with a journal and a peer that repeats what was cut off, as it was or otherwise.
#include "tools/vertical/journaled_stages.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/vertical/psi_pair.h"
#include "tests/unit/vertical_regression/run_regression.h"

namespace coterie::vertical {
namespace {

using test::Job;
using test::seed_of;

// 39 steps of 16 people: checkpoints behind 16 and 32.
Job journaled_job() {
  Job job{.settings = {.epochs = 13, .batch = 16, .rate = 0.3}};
  job.label_columns.assign(1, std::vector<float>(48));
  job.feature_columns.assign(2, std::vector<float>(48));
  for (uint32_t row = 0; row < 48; ++row) {
    job.label_columns[0][row] = static_cast<float>(row * 37 % 53);
    job.feature_columns[0][row] = static_cast<float>(row * 23 % 59);
    job.feature_columns[1][row] = static_cast<float>(row * 17 % 31);
    job.labels.push_back(job.feature_columns[0][row] > 29 ? 1 : 0);
  }
  return job;
}

// One party has a journal, the other one is the adversary: it may come with anything.
class JournaledStagesTest : public ::testing::TestWithParam<PartyIndex> {
 protected:
  PartyIndex honest() const { return GetParam(); }
  PartyJournal open() const {
    return std::move(
        *PartyJournal::open(directory_ / "journal", JournalTerms{.job = {1}, .manifest = {}, .inputs = {}}));
  }

  // From a checkpoint of both, until `messages` have come to the honest party or it errs.
  Status train(const Job& job, uint32_t unit, size_t messages) {
    PartyJournal journal = open();
    std::array<RegressionCheckpoint, 2> from;
    if (const JournalCheckpoint* const kept = journal.checkpoint(unit)) {
      from[honest()] = *read_regression_checkpoint(kept->bytes);
    }
    for (const RegressionCheckpoint& kept : others_) {
      if (kept.steps == unit) from[1 - honest()] = kept;
    }
    std::array<std::unique_ptr<RegressionTraining>, 2> parties = {
        std::move(*start_label_regression(job.shape(), job.settings, job.label_columns, job.labels, from[0])),
        std::move(*start_feature_regression(job.shape(), job.settings, job.feature_columns, from[1]))};
    std::vector<Dealing> dealings;
    for (const PartyIndex to : {0u, 1u}) {
      dealings.push_back(*Dealing::make(job.shape(), to, seed_of(1), seed_of(2), unit));
    }
    const uint32_t columns = honest() == 0 ? job.shape().label_columns : job.shape().feature_columns;
    JournaledTraining journaled(*parties[honest()], columns, journal);
    std::array<OrderedStage*, 2> stages = {parties[0].get(), parties[1].get()};
    stages[honest()] = &journaled;
    answered_ = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (const PartyIndex to : {0u, 1u}) {
        while (!stages[to]->done() && stages[to]->awaits() == kDealer) {
          Message dealt = *dealings[to].next();
          dealt.peer = kDealer;
          COT_TRY(stages[to]->receive(dealt));
          moved = true;
        }
        while (std::optional<Message> message = stages[1 - to]->next()) {
          message->peer = 1 - to;
          if (to != honest()) ++answered_;
          COT_TRY(stages[to]->receive(*message));
          if (to != honest()) {
            if (auto checkpoint = parties[to]->take_checkpoint()) others_.push_back(std::move(*checkpoint));
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
  std::vector<RegressionCheckpoint> others_;
  size_t answered_ = 0;  // messages that the honest party has sent in the last training
};

TEST_P(JournaledStagesTest, GoesOnWhereverItWasCutOff) {
  const Job job = journaled_job();
  ASSERT_OK(train(job, 0, 9));
  ASSERT_OK(train(job, 0, 40)) << "from the begin once more, and behind the first checkpoint";
  ASSERT_OK(train(job, 16, 20));
  ASSERT_OK(train(job, 16, 50)) << "behind the second one";
  ASSERT_OK(train(job, 16, 10)) << "the peer has lost its last checkpoint";
  ASSERT_OK(train(job, 32, SIZE_MAX));
}

// The sharpest of them: a share changed by one in the last place, which is what a peer would choose that wants to see
// how the answer changes under the same masks.
TEST_P(JournaledStagesTest, AnswersNoOtherWeightsUnderTheSameMasks) {
  const Job job = journaled_job();
  ASSERT_OK(train(job, 0, 45));
  ASSERT_EQ(others_.at(0).steps, 16u);
  const std::vector<RegressionCheckpoint> kept = others_;
  for (const bool own : {true, false}) {
    others_ = kept;
    (own ? others_[0].own_weights : others_[0].peer_weights)[0] += 1;
    const Status refused = train(job, 16, SIZE_MAX);
    EXPECT_ERROR(refused, ErrorCode::refused, "something else");
    EXPECT_EQ(refused.error().reason(), "replay_differs");
  }
  others_ = kept;
  EXPECT_OK(train(job, 16, SIZE_MAX)) << "as it was before";
}

TEST_P(JournaledStagesTest, AnswersNoOtherColumns) {
  const Job job = journaled_job();
  ASSERT_OK(train(job, 0, 45));
  Job other = job;
  (honest() == 0 ? other.feature_columns : other.label_columns)[0][7] += 1;
  const Status refused = train(other, 16, SIZE_MAX);
  EXPECT_EQ(refused.error().reason(), "replay_differs");
  // Its own columns, and of the label party the first step's masked weights, which were said before.
  EXPECT_EQ(answered_, honest() == 0 ? 2u : 1u);
}

INSTANTIATE_TEST_SUITE_P(Parties, JournaledStagesTest, ::testing::Values(0u, 1u),
                         [](const auto& info) { return info.param == 0 ? "Label" : "Feature"; });

// A peer that brings other ids to a matching which was cut off asks whether this party has them, too.
TEST(JournaledMatching, AnswersOneSetOfIdsInAJob) {
  coterie::test::TemporaryDirectory directory{coterie::test::memory_disk()};
  const auto match = [&](bool is_label_honest, const std::vector<std::string>& theirs) -> Status {
    COT_ASSIGN(PartyJournal journal, PartyJournal::open(directory / (is_label_honest ? "label" : "feature"),
                                                        JournalTerms{.job = {1}, .manifest = {}, .inputs = {}}));
    const std::vector<std::string> own = coterie::test::numbered_ids(40);
    coterie::test::PsiPair pair(is_label_honest ? own : theirs, is_label_honest ? theirs : own,
                                coterie::test::psi_settings());
    Matching& honest = is_label_honest ? *pair.label : *pair.feature;
    Matching& other = is_label_honest ? *pair.feature : *pair.label;
    JournaledMatching heard(honest, 0, journal);
    while (!heard.done() || !other.done()) {
      bool moved = false;
      while (std::optional<Message> message = heard.next()) {
        message->peer = is_label_honest ? 0 : 1;
        COT_TRY(other.receive(*message));
        moved = true;
      }
      while (std::optional<Message> message = other.next()) {
        message->peer = is_label_honest ? 1 : 0;
        COT_TRY(heard.receive(*message));
        moved = true;
      }
      if (!moved) return Error(ErrorCode::internal, "both wait");
    }
    return {};
  };
  std::vector<std::string> ids = coterie::test::numbered_ids(30, 2);
  for (const bool is_label_honest : {true, false}) {
    ASSERT_OK(match(is_label_honest, ids));
    ASSERT_OK(match(is_label_honest, ids)) << "it says what it said";
    std::vector<std::string> others = ids;
    others.back() = "u00000001";
    EXPECT_EQ(match(is_label_honest, others).error().reason(), "replay_differs");
  }
}

// A row's place under a mask depends on the peer's columns: under one mask twice, rows would be told by differences.
TEST(HearShape, APeerThatComesWithOtherColumnsHearsNothing) {
  const coterie::test::TemporaryDirectory directory;
  const auto open = [&] {
    return std::move(
        *PartyJournal::open(directory / "journal", JournalTerms{.job = {1}, .manifest = {}, .inputs = {}}));
  };
  RegressionShape shape{.rows = 2'000, .label_columns = 4, .feature_columns = 182, .batch = 1, .epochs = 1};
  {
    PartyJournal journal = open();
    ASSERT_OK(hear_shape(shape, journal));
    ASSERT_OK(hear_shape(shape, journal));
  }
  PartyJournal journal = open();
  ASSERT_OK(hear_shape(shape, journal));
  shape.feature_columns = 183;
  const Status other = hear_shape(shape, journal);
  EXPECT_ERROR(other, ErrorCode::refused, "says something else than before");
  EXPECT_EQ(other.error().reason(), "replay_differs");
}

}  // namespace
}  // namespace coterie::vertical
