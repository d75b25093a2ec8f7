// Both parties and their dealer: the model is that of one table, what is said says nothing, what is wrong is named.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/random.h"
#include "tests/support/matchers.h"
#include "tests/unit/vertical_regression/run_regression.h"

namespace coterie::vertical {
namespace {

using test::Job;
using test::RegressionRun;

// Labels follow columns of both parties, with noise.
Job make_job(uint32_t rows, size_t label_columns, size_t feature_columns, RegressionSettings settings) {
  Prng random(11);
  Job job{.settings = settings};
  job.label_columns.assign(label_columns, std::vector<float>(rows));
  job.feature_columns.assign(feature_columns, std::vector<float>(rows));
  for (uint32_t row = 0; row < rows; ++row) {
    double margin = 0.3;
    for (RegressionColumns* columns : {&job.label_columns, &job.feature_columns}) {
      for (size_t c = 0; c < columns->size(); ++c) {
        const double value = 4 * random.uniform() - 2;
        (*columns)[c][row] = static_cast<float>(value * 10 + 3);
        margin += value * (c % 2 == 0 ? 1.0 : -0.5);
      }
    }
    job.labels.push_back(random.uniform() < sigmoid(margin) ? 1 : 0);
  }
  return job;
}

void expect_plain_weights(const Job& job, double tolerance) {
  RegressionRun run(job);
  ASSERT_OK(run.run());
  ASSERT_TRUE(run.party(0).done() && run.party(1).done());
  const auto label = run.party(0).model(), feature = run.party(1).model();
  ASSERT_OK(label);
  ASSERT_OK(feature);
  const std::vector<double> weights = test::weights_of(*label, *feature), plain = test::plain_weights(job);
  ASSERT_EQ(weights.size(), plain.size());
  for (size_t c = 0; c < plain.size(); ++c) EXPECT_NEAR(weights[c], plain[c], tolerance) << c;
  EXPECT_EQ(run.party(0).steps_done(), RingPlan(job.shape()).steps());
  EXPECT_EQ(run.party(1).steps_done(), RingPlan(job.shape()).steps());
  for (PartyIndex to = 0; to < 2; ++to) EXPECT_FALSE(run.dealing(to).next()) << "no more was dealt than was used";
}

TEST(RegressionParties, EqualOneTableInOneBatch) {
  expect_plain_weights(make_job(300, 2, 3, {.epochs = 30, .batch = 512}), 0.02);
}

TEST(RegressionParties, EqualOneTableInBatchesTheLastOfWhichIsShort) {
  expect_plain_weights(make_job(700, 3, 2, {.epochs = 4, .batch = 300, .rate = 0.3}), 0.02);
}

TEST(RegressionParties, EqualOneTableWhereTheLabelPartyHasNoColumns) {
  expect_plain_weights(make_job(64, 0, 1, {.epochs = 10, .batch = 16, .rate = 0.1, .lambda = 0.1}), 0.02);
}

TEST(RegressionParties, AgreeOnTheirShape) {
  const Job job = make_job(40, 2, 3, {.epochs = 7, .batch = 16});
  auto label = *start_shape(40, job.label_columns, 0, job.settings);
  auto feature = *start_shape(40, job.feature_columns, 1, job.settings);
  const Message from_label = *label->next(), from_feature = *feature->next();
  ASSERT_OK(label->receive(from_feature));
  ASSERT_OK(feature->receive(from_label));
  EXPECT_TRUE(label->done() && feature->done());
  EXPECT_EQ(label->shape(), job.shape());
  EXPECT_EQ(feature->shape(), job.shape());

  auto other = *start_shape(41, job.feature_columns, 1, job.settings);
  EXPECT_ERROR(other->receive(from_label), ErrorCode::malformed, "40 rows");
  auto wide = *start_shape(40, job.label_columns, 0, job.settings);
  EXPECT_ERROR(wide->receive(word_message(0, RegressionMessage::shape, 0, {std::vector<Word>{40, Word{1} << 33}})),
               ErrorCode::invalid_argument, "out of range");
  EXPECT_ERROR(start_shape(40, {}, 1, job.settings), ErrorCode::invalid_argument, "at least 1");
  EXPECT_ERROR(start_shape(40, job.label_columns, 0, {.rate = 2}), ErrorCode::invalid_argument, "rate is 2");
}

TEST(RegressionParties, AreUnequalWithAnotherSeedAndEqualWithTheSame) {
  const Job job = make_job(100, 2, 2, {.epochs = 3, .batch = 64});
  RegressionRun first(job, 1), again(job, 1), other(job, 2);
  for (RegressionRun* run : {&first, &again, &other}) ASSERT_OK(run->run());
  ASSERT_EQ(first.said().size(), other.said().size());
  for (size_t i = 0; i < first.said().size(); ++i) {
    EXPECT_EQ(first.said()[i].payload, again.said()[i].payload);
    EXPECT_EQ(first.said()[i].payload.size(), other.said()[i].payload.size());
    const auto kind = static_cast<RegressionMessage>(first.said()[i].kind);
    if (kind == RegressionMessage::last || kind == RegressionMessage::label_weights) continue;
    EXPECT_NE(first.said()[i].payload, other.said()[i].payload);
  }
}

// Kinds, sizes and who says them follow from the shape alone: not from labels, nor from columns.
TEST(RegressionParties, SayThingsOfTheSameFormWhateverTheDataIs) {
  const Job job = make_job(100, 2, 2, {.epochs = 2, .batch = 64, .rate = 0.1});
  Job flipped = job;
  for (float& label : flipped.labels) label = 1 - label;
  for (auto& column : flipped.feature_columns) std::ranges::reverse(column);
  RegressionRun one(job), two(flipped);
  ASSERT_OK(one.run());
  ASSERT_OK(two.run());
  ASSERT_EQ(one.said().size(), two.said().size());
  size_t bytes = 0, expected = 0;
  for (size_t i = 0; i < one.said().size(); ++i) {
    EXPECT_EQ(one.said()[i].kind, two.said()[i].kind);
    EXPECT_EQ(one.said()[i].peer, two.said()[i].peer);
    EXPECT_EQ(one.said()[i].payload.size(), two.said()[i].payload.size());
    bytes += one.said()[i].payload.size() - 4;
  }
  // Columns once; for each row and epoch four words; for each step weights and changes, there and back, and the guard;
  // at the end the weights' shares.
  expected = 8 * (100 * 5 + 2 * 100 * 4 + 4 * (5 + 2 * 5 + 1) + 5);
  EXPECT_EQ(bytes, expected);
  // What is dealt is the same in both runs: it does not depend on the data at all.
  ASSERT_EQ(one.dealt().size(), two.dealt().size());
  for (size_t i = 0; i < one.dealt().size(); ++i) EXPECT_EQ(one.dealt()[i].payload, two.dealt()[i].payload);
}

// Each bit of what a party says is as often 0 as 1, by kind of message: 6 standard deviations. The shares of weights at
// the end and the guard's sum are meant to be read.
TEST(RegressionParties, SayWordsThatLookLikeRandomOnes) {
  Job job = make_job(512, 2, 2, {.epochs = 12, .batch = 128});
  std::ranges::fill(job.labels, 1.0f);
  for (auto& column : job.label_columns) {
    for (size_t row = 0; row < column.size(); ++row) column[row] = row % 2 == 0 ? 1.0f : -1.0f;
  }
  RegressionRun run(job);
  ASSERT_OK(run.run());
  std::map<std::pair<uint16_t, PartyIndex>, std::pair<std::array<double, 64>, double>> ones;
  for (const Message& message : run.said()) {
    const auto kind = static_cast<RegressionMessage>(message.kind);
    if (kind == RegressionMessage::last || kind == RegressionMessage::label_weights) continue;
    auto& [bits, words] = ones[{message.kind, message.peer}];
    for (size_t at = 4; at < message.payload.size(); at += 8) {
      if (kind == RegressionMessage::gradients && (at - 4) / 8 == 128) continue;
      for (size_t bit = 0; bit < 64; ++bit) bits[bit] += message.payload[at + bit / 8] >> (bit % 8) & 1;
      ++words;
    }
  }
  EXPECT_EQ(ones.size(), 6u) << "columns of both; weights, margins, residuals, gradients";
  for (const auto& [who, counts] : ones) {
    const auto& [bits, words] = counts;
    for (size_t bit = 0; bit < 64; ++bit) {
      EXPECT_NEAR(bits[bit], words / 2, 6 * std::sqrt(words) / 2) << "kind " << who.first << ", bit " << bit;
    }
  }
}

TEST(RegressionParties, EndByNameWhenMarginsLeaveTheSigmoid) {
  // One direction 100 times over: a step moves margins by 100 times what it should.
  Job job = make_job(64, 1, 1, {.epochs = 50, .batch = 64, .rate = 1, .lambda = 0});
  job.feature_columns.assign(100, job.feature_columns[0]);
  RegressionRun run(job);
  EXPECT_EQ(run.run().error().reason(), "margins_out_of_range");
  ASSERT_TRUE(run.party(0).done());
  EXPECT_EQ(run.party(0).model().error().reason(), "margins_out_of_range");
}

// After each number of messages, what comes next is spoilt in each of several ways.
TEST(RegressionParties, NameWhatIsWrong) {
  const Job job = make_job(40, 1, 2, {.epochs = 2, .batch = 32});
  RegressionRun whole(job);
  ASSERT_OK(whole.run());
  const std::vector<Message> all = whole.said();
  for (size_t count = 0; count < all.size(); ++count) {
    const auto spoilt = [&](auto spoil) -> Status {
      RegressionRun run(job);
      if (count > 0) {
        if (Status status = run.run(count); !status) return status;
      }
      Message message = all[count];
      const PartyIndex to = 1 - message.peer;
      // What is dealt in between.
      while (!run.party(to).done() && run.party(to).awaits() == kDealer) {
        Message dealt = *run.dealing(to).next();
        dealt.peer = kDealer;
        if (Status status = run.party(to).receive(dealt); !status) return status;
      }
      spoil(message);
      return run.party(to).receive(message);
    };
    EXPECT_OK(spoilt([](Message&) {})) << count;
    EXPECT_ERROR(spoilt([](Message& message) { message.kind = 77; }), ErrorCode::malformed, "kind 77") << count;
    EXPECT_ERROR(spoilt([](Message& message) { message.payload.pop_back(); }), ErrorCode::malformed, "bytes") << count;
    EXPECT_ERROR(spoilt([](Message& message) { message.payload.clear(); }), ErrorCode::malformed, "bytes") << count;
    EXPECT_ERROR(spoilt([](Message& message) { message.payload[2] = 1; }), ErrorCode::malformed, "of step") << count;
    EXPECT_ERROR(spoilt([](Message& message) { message.peer = 3; }), ErrorCode::malformed, "party 3") << count;
    EXPECT_ERROR(spoilt([](Message& message) { message.payload.resize(kMessageBytesMax + 1); }), ErrorCode::too_large,
                 "at most")
        << count;
  }
  EXPECT_ERROR(whole.party(0).receive(all[0]), ErrorCode::malformed, "nothing any more");
}

TEST(RegressionParties, NameWhatADealerDoesWrong) {
  const Job job = make_job(40, 1, 2, {.epochs = 2, .batch = 32});
  auto label = *start_label_regression(job.shape(), job.settings, job.label_columns, job.labels);
  EXPECT_EQ(label->awaits(), kDealer);
  Message seed{.peer = kDealer, .kind = static_cast<uint16_t>(RegressionMessage::dealt_seed), .payload = Bytes(31)};
  EXPECT_ERROR(label->receive(seed), ErrorCode::malformed, "31 bytes");
  RegressionRun run(job);
  ASSERT_OK(run.run(2));
  Message dealt = word_message(kDealer, RegressionMessage::dealt_words, 0, {std::vector<Word>(31)});
  dealt.peer = kDealer;
  EXPECT_ERROR(run.party(0).receive(dealt), ErrorCode::malformed, "expected 260");
}

TEST(RegressionParties, RefuseAShapeThatIsNotTheirs) {
  const Job job = make_job(40, 1, 2, {.epochs = 2, .batch = 32});
  RegressionShape shape = job.shape();
  shape.rows = 41;
  EXPECT_ERROR(start_label_regression(shape, job.settings, job.label_columns, job.labels), ErrorCode::invalid_argument,
               "41 rows");
  shape = job.shape();
  shape.feature_columns = 3;
  EXPECT_ERROR(start_feature_regression(shape, job.settings, job.feature_columns), ErrorCode::invalid_argument,
               "3 columns");
  std::vector<float> labels = job.labels;
  labels[3] = 2;
  EXPECT_ERROR(start_label_regression(job.shape(), job.settings, job.label_columns, labels),
               ErrorCode::invalid_argument, "0 or 1");
  shape.rows = kRegressionRowsMax + 1;
  EXPECT_ERROR(Dealing::make(shape, 0, {}, {}), ErrorCode::invalid_argument, "out of range");
}

}  // namespace
}  // namespace coterie::vertical
