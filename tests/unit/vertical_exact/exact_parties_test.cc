// Both parties of an exact regression: the weights are one table's, also when they go on from any checkpoint under
// another key; what the feature party sees has nothing of labels in the clear; what is not the protocol's is refused.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "tests/support/matchers.h"
#include "tests/unit/vertical_exact/exact_pair.h"
#include "vertical/exact/exact_messages.h"
#include "vertical/exact/train_exact.h"

namespace coterie::vertical {
namespace {

using test::ExactJob;
using test::ExactPair;

// Gradient descent on one table, in double precision; the label's column first.
std::vector<double> pooled(const ExactJob& job) {
  const RegressionModel a = scale_columns(job.label), b = scale_columns(job.feature);
  std::vector<double> w(4);
  const auto value = [&](size_t c, uint32_t row) {
    if (c == 3) return 1.0;
    if (c == 0) return standardised(a.columns[0], job.label[0][row]);
    return std::round(standardised(b.columns[c - 1], job.feature[c - 1][row]) * 4096) / 4096;
  };
  for (uint32_t step = 0; step < 10; ++step) {
    std::vector<double> gradient(4);
    for (uint32_t row = step % 2 * 120; row < step % 2 * 120 + 120; ++row) {
      double margin = 0;
      for (size_t c = 0; c < 4; ++c) margin += w[c] * value(c, row);
      const double residual = sigmoid(margin) - double{job.labels[row]};
      for (size_t c = 0; c < 4; ++c) gradient[c] += residual * value(c, row) / 120;
    }
    for (size_t c = 0; c < 4; ++c) w[c] -= 0.4 * (gradient[c] + (c == 3 ? 0 : 0.01 * w[c]));
  }
  return w;
}

TEST(ExactParties, HaveTheWeightsOfOneTableAlsoBehindABreak) {
  const ExactJob job;
  ExactPair whole(job, 1);
  ASSERT_OK(whole.run());
  ASSERT_TRUE(whole.party[0]->done() && whole.party[1]->done());
  const RegressionModel label = whole.party[0]->model(), feature = whole.party[1]->model();
  const std::vector<double> expected = pooled(job);
  EXPECT_NEAR(label.columns[0].weight, expected[0], 1e-9);
  EXPECT_NEAR(feature.columns[0].weight, expected[1], 1e-9);
  EXPECT_NEAR(feature.columns[1].weight, expected[2], 1e-9);
  EXPECT_NEAR(label.intercept, expected[3], 1e-9);
  ASSERT_EQ(whole.checkpoints[0].size(), 2u);
  ASSERT_EQ(whole.checkpoints[1].size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(whole.checkpoints[0][i].said, whole.checkpoints[1][i].said);
    std::array<ExactCheckpoint, 2> from;
    for (size_t party = 0; party < 2; ++party) {
      const auto read = read_exact_checkpoint(write_exact_checkpoint(whole.checkpoints[party][i]));
      ASSERT_OK(read);
      EXPECT_EQ(*read, whole.checkpoints[party][i]);
      from[party] = *read;
    }
    ExactPair again(job, 2, from);
    ASSERT_OK(again.run());
    EXPECT_EQ(again.party[0]->model(), label);
    EXPECT_EQ(again.party[1]->model(), feature);
  }
}

TEST(ExactLeakage, MessagesAreThoseOfTheListAndOthersAreRefused) {
  const ExactJob job;
  ExactPair honest(job, 1);
  ASSERT_OK(honest.run());
  for (const Message& message : honest.said) {
    const auto kind = static_cast<ExactMessage>(message.kind);
    const bool is_label = kind == ExactMessage::hello || kind == ExactMessage::residuals || kind == ExactMessage::sums;
    EXPECT_EQ(message.peer, is_label ? 0u : 1u) << message.kind;
  }
  // Each message of the first step in turn: cut, longer, of another kind.
  for (size_t number = 0; number < 6; ++number) {
    for (int how = 0; how < 3; ++how) {
      ExactPair pair(job, 1);
      size_t seen = 0;
      const Status status = pair.run([&](Message& message) {
        if (seen++ != number) return;
        if (how == 0) message.payload.pop_back();
        if (how == 1) message.payload.push_back(0);
        if (how == 2) message.kind = static_cast<uint16_t>(message.kind + 1);
      });
      EXPECT_FALSE(status) << "message " << number << ", change " << how;
    }
  }
}

TEST(ExactLeakage, TheLabelPartyRefusesMoreColumnsThanItsBatchesHide) {
  const ExactJob job;
  ExactPair pair(job, 1);
  const Status status = pair.run([](Message& message) {
    if (static_cast<ExactMessage>(message.kind) == ExactMessage::ready) message.payload[0] = 9;
  });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().reason(), "batch_reveals_labels");
  EXPECT_EQ(pair.said.size(), 2u) << "hello and ready, no residual";
}

}  // namespace
}  // namespace coterie::vertical
