// A training that is cut off anywhere goes on from both parties' checkpoints, and ends with the same bits.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "tests/support/matchers.h"
#include "tests/unit/vertical_regression/run_regression.h"

namespace coterie::vertical {
namespace {

using test::Job;
using test::RegressionRun;

// 39 steps: checkpoints after 16 and 32.
Job resumed_job() {
  Prng random(5);
  Job job{.settings = {.epochs = 13, .batch = 16, .rate = 0.3}};
  job.label_columns.assign(1, std::vector<float>(48));
  job.feature_columns.assign(2, std::vector<float>(48));
  for (uint32_t row = 0; row < 48; ++row) {
    for (RegressionColumns* columns : {&job.label_columns, &job.feature_columns}) {
      for (auto& column : *columns) column[row] = static_cast<float>(random.uniform());
    }
    job.labels.push_back(job.feature_columns[0][row] > 0.5 ? 1 : 0);
  }
  return job;
}

TEST(RegressionResume, EndsWithTheSameBitsWhereverItWasCutOff) {
  const Job job = resumed_job();
  RegressionRun whole(job);
  ASSERT_OK(whole.run());
  for (PartyIndex party = 0; party < 2; ++party) {
    ASSERT_EQ(whole.checkpoints(party).size(), 2u);
    EXPECT_EQ(whole.checkpoints(party)[0].steps, kCheckpointSteps);
    EXPECT_EQ(whole.checkpoints(party)[1].opened, whole.checkpoints(1 - party)[1].opened);
  }
  size_t from_begin = 0, resumed = 0;
  for (size_t cut = 1; cut < whole.said().size(); cut += 5) {
    RegressionRun first(job);
    ASSERT_OK(first.run(cut));
    // Both know the checkpoints that the slower one has, and are at most one apart.
    const size_t count = std::min(first.checkpoints(0).size(), first.checkpoints(1).size());
    EXPECT_LE(std::max(first.checkpoints(0).size(), first.checkpoints(1).size()), count + 1);
    std::array<RegressionCheckpoint, 2> from;
    for (PartyIndex party = 0; party < 2 && count > 0; ++party) {
      // As it comes back from a disk.
      const auto read = read_regression_checkpoint(write_regression_checkpoint(first.checkpoints(party)[count - 1]));
      ASSERT_OK(read);
      from[party] = *read;
    }
    ++(count == 0 ? from_begin : resumed);
    RegressionRun second(job, 1, from);
    ASSERT_OK(second.run());
    for (PartyIndex party = 0; party < 2; ++party) {
      ASSERT_TRUE(second.party(party).done());
      EXPECT_EQ(write_regression_model(*second.party(party).model()),
                write_regression_model(*whole.party(party).model()))
          << "cut off after message " << cut;
      EXPECT_EQ(second.party(party).steps_done(), 39u);
    }
    // What is repeated is what was said before: nothing is masked twice with different values.
    for (const Message& message : second.said()) {
      const auto same = std::ranges::count_if(whole.said(), [&message](const Message& other) {
        return other.kind == message.kind && other.payload == message.payload;
      });
      const bool is_first = message.kind == static_cast<uint16_t>(RegressionMessage::weights);
      EXPECT_TRUE(same > 0 || is_first) << "the first weights come without the change before them";
    }
  }
  EXPECT_GT(from_begin, 5u);
  EXPECT_GT(resumed, 15u);
}

TEST(RegressionResume, RefusesACheckpointThatDoesNotFit) {
  const Job job = resumed_job();
  RegressionRun whole(job);
  ASSERT_OK(whole.run());
  const RegressionCheckpoint good = whole.checkpoints(0)[0];
  const auto start = [&job](const RegressionCheckpoint& from) {
    return start_label_regression(job.shape(), job.settings, job.label_columns, job.labels, from);
  };
  ASSERT_OK(start(good));
  RegressionCheckpoint late = good, narrow = good;
  late.steps = 39;
  narrow.peer_weights.pop_back();
  EXPECT_ERROR(start(late), ErrorCode::invalid_argument, "checkpoint of step 39");
  EXPECT_ERROR(start(narrow), ErrorCode::invalid_argument, "checkpoint of step 16");
  EXPECT_ERROR(start_feature_regression(job.shape(), job.settings, job.feature_columns, narrow),
               ErrorCode::invalid_argument, "checkpoint");
  EXPECT_ERROR(Dealing::make(job.shape(), 0, test::seed_of(1), test::seed_of(2), 39), ErrorCode::invalid_argument,
               "step 39");
  Bytes bytes = write_regression_checkpoint(good);
  bytes.pop_back();
  EXPECT_ERROR(read_regression_checkpoint(bytes), ErrorCode::malformed, "no checkpoint");
  bytes.resize(20);
  EXPECT_ERROR(read_regression_checkpoint(bytes), ErrorCode::malformed, "no checkpoint");
}

}  // namespace
}  // namespace coterie::vertical
