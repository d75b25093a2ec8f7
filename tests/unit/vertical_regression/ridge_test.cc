// A linear regression of two parties and their dealer has the weights of one table.
#include "vertical/regression/ridge.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "tests/support/matchers.h"
#include "tests/unit/vertical_regression/run_regression.h"
#include "vertical/regression/predict_regression.h"
#include "vertical/regression/product_dealing.h"

namespace coterie::vertical {
namespace {

struct RidgeJob {
  RegressionColumns label_columns, feature_columns;
  std::vector<float> labels;
  RidgeSettings settings{.lambda = 0.02};

  RegressionShape shape() const {
    return {.rows = static_cast<uint32_t>(labels.size()),
            .label_columns = static_cast<uint32_t>(label_columns.size() + 1),
            .feature_columns = static_cast<uint32_t>(feature_columns.size()),
            .batch = ridge_rounds().batch,
            .epochs = ridge_rounds().epochs};
  }
  RegressionColumns all() const {
    RegressionColumns columns = label_columns;
    columns.insert(columns.end(), feature_columns.begin(), feature_columns.end());
    return columns;
  }
};

// The feature party's second column is always 4, and its third one has no value in each tenth row.
RidgeJob ridge_job(uint32_t rows = 200) {
  RidgeJob job{.label_columns = RegressionColumns(2), .feature_columns = RegressionColumns(3), .labels = {}};
  for (uint32_t row = 0; row < rows; ++row) {
    const auto a = static_cast<float>(row * 37 % 53), b = static_cast<float>(row * 23 % 59);
    job.label_columns[0].push_back(a);
    job.label_columns[1].push_back(static_cast<float>(row * 29 % 31) * 0.25f);
    job.feature_columns[0].push_back(b);
    job.feature_columns[1].push_back(4);
    job.feature_columns[2].push_back(row % 10 == 3 ? std::numeric_limits<float>::quiet_NaN()
                                                   : static_cast<float>(row * row % 47));
    job.labels.push_back(100 + 0.5f * a - 2 * b + static_cast<float>(row * 17 % 13));
  }
  return job;
}

// By a program in Python that shares nothing with this one: Gaussian elimination of the normal equations.
constexpr std::array<double, 5> kExpectedWeights = {7.213526633114662, 0.10452827540103274, -33.27505915777911, 0.0,
                                                    0.025154613954434198};
constexpr double kExpectedIntercept = 61.43;

class RidgeRun {
 public:
  explicit RidgeRun(const RidgeJob& job, uint8_t seed = 1) {
    parties_[0] = std::move(*start_label_ridge(job.shape(), job.settings, job.label_columns, job.labels));
    parties_[1] = std::move(*start_feature_ridge(job.shape(), job.feature_columns));
    for (const PartyIndex to : {0u, 1u}) {
      dealings_.push_back(
          *ProductDealing::make(job.shape(), to, test::seed_of(seed), test::seed_of(static_cast<uint8_t>(seed + 100))));
    }
  }

  // What passes may be changed by `change`.
  template <typename Change>
  Status run(Change change) {
    for (const PartyIndex to : {0u, 1u}) {
      while (parties_[to]->awaits() == kDealer) {
        Message dealt = *dealings_[to].next();
        dealt.peer = kDealer;
        COT_TRY(parties_[to]->receive(dealt));
      }
    }
    for (bool moved = true; moved;) {
      moved = false;
      for (const PartyIndex from : {0u, 1u}) {
        while (std::optional<Message> message = parties_[from]->next()) {
          message->peer = from;
          change(*message);
          said_.push_back(*message);
          COT_TRY(parties_[1 - from]->receive(*message));
          moved = true;
        }
      }
    }
    return {};
  }
  Status run() {
    return run([](Message&) {});
  }

  RidgeTraining& party(PartyIndex index) { return *parties_[index]; }
  const std::vector<Message>& said() const { return said_; }

 private:
  std::array<std::unique_ptr<RidgeTraining>, 2> parties_;
  std::vector<ProductDealing> dealings_;
  std::vector<Message> said_;
};

TEST(Ridge, HasTheWeightsOfOneTable) {
  const RidgeJob job = ridge_job();
  RidgeRun run(job);
  ASSERT_OK(run.run());
  ASSERT_TRUE(run.party(0).done() && run.party(1).done());
  const std::vector<double> weights = test::weights_of(*run.party(0).model(), *run.party(1).model());
  ASSERT_EQ(weights.size(), 6u);
  const Result<RegressionModel> pooled = pooled_ridge(job.all(), job.labels, job.settings);
  ASSERT_OK(pooled);
  for (size_t c = 0; c < 5; ++c) {
    EXPECT_NEAR(weights[c], kExpectedWeights[c], 1e-9) << c;
    EXPECT_NEAR(weights[c], pooled->columns[c].weight, 1e-10) << c;
  }
  EXPECT_EQ(weights[3], 0) << "a column of one value says nothing";
  EXPECT_NEAR(weights[5], kExpectedIntercept, 1e-9);
}

TEST(Ridge, IsTheSameWhateverIsDealt) {
  const RidgeJob job = ridge_job();
  RidgeRun one(job), again(job), other(job, 2);
  for (RidgeRun* run : {&one, &again, &other}) ASSERT_OK(run->run());
  EXPECT_EQ(*one.party(1).model(), *other.party(1).model()) << "shares add up to the same product";
  ASSERT_EQ(one.said().size(), other.said().size());
  for (size_t i = 0; i < one.said().size(); ++i) {
    EXPECT_EQ(one.said()[i].payload, again.said()[i].payload) << "a run that is repeated says what it said";
    const auto kind = static_cast<RegressionMessage>(one.said()[i].kind);
    const bool is_masked = kind == RegressionMessage::columns || kind == RegressionMessage::products;
    EXPECT_EQ(one.said()[i].payload != other.said()[i].payload, is_masked) << i;
  }
}

// More rows than a chunk has, and labels far from 0.
TEST(Ridge, TakesTablesOfManyChunks) {
  RidgeJob job = ridge_job(25'000);
  for (float& label : job.labels) label += 1e6f;
  RidgeRun run(job);
  ASSERT_OK(run.run());
  const Result<RegressionModel> pooled = pooled_ridge(job.all(), job.labels, job.settings);
  ASSERT_OK(pooled);
  EXPECT_NEAR(run.party(1).model()->columns[0].weight, pooled->columns[2].weight, 1e-9);
  EXPECT_NEAR(run.party(0).model()->intercept, pooled->intercept, 1e-6);
}

TEST(Ridge, ScoresAreSumsAndNoProbabilities) {
  const RidgeJob job = ridge_job();
  RidgeRun run(job);
  ASSERT_OK(run.run());
  auto label = LabelScoring::start(job.label_columns, *run.party(0).model(), 200, ScoreKind::value);
  auto feature = start_feature_scoring(job.feature_columns, *run.party(1).model(), 200);
  ASSERT_OK(label);
  ASSERT_OK(feature);
  ASSERT_OK((*label)->receive(*(*feature)->next()));
  ASSERT_TRUE((*label)->done());
  const RegressionModel pooled = *pooled_ridge(job.all(), job.labels, job.settings);
  const std::vector<double> expected = partial_margins(pooled, job.all(), 200);
  for (size_t row = 0; row < 200; ++row) EXPECT_NEAR((*label)->scores()[row], expected[row], 1e-4) << row;
}

TEST(Ridge, RefusesRowsThatProductsWouldTell) {
  const RidgeJob few = ridge_job(69);  // 2 + 3 columns, the intercept, the label: 70 are enough
  EXPECT_EQ(start_label_ridge(few.shape(), few.settings, few.label_columns, few.labels).error().reason(), "rows_few");
  EXPECT_EQ(start_feature_ridge(few.shape(), few.feature_columns).error().reason(), "rows_few");
  EXPECT_OK(start_feature_ridge(ridge_job(70).shape(), ridge_job(70).feature_columns));
  RidgeJob job = ridge_job();
  job.labels[3] = std::numeric_limits<float>::infinity();
  EXPECT_ERROR(start_label_ridge(job.shape(), job.settings, job.label_columns, job.labels), ErrorCode::invalid_argument,
               "finite label");
  EXPECT_ERROR(check_ridge_settings({.lambda = -1}), ErrorCode::invalid_argument, "lambda");
  EXPECT_ERROR(check_ridge_settings({.lambda = std::nan("")}), ErrorCode::invalid_argument, "lambda");
}

TEST(Ridge, NamesColumnsThatAreSumsOfOthers) {
  RidgeJob job = ridge_job();
  job.feature_columns[1] = job.label_columns[0];
  job.settings.lambda = 0;
  RidgeRun run(job);
  EXPECT_EQ(run.run().error().reason(), "columns_dependent") << "the feature party hears of it";
  EXPECT_EQ(run.party(0).model().error().reason(), "columns_dependent");
}

TEST(Ridge, TakesNothingThatIsNoMessageOfIt) {
  const RidgeJob job = ridge_job();
  RidgeRun whole(job);
  ASSERT_OK(whole.run());
  for (size_t at = 0; at < whole.said().size(); ++at) {
    for (int way = 0; way < 3; ++way) {
      RidgeRun run(job);
      size_t number = 0;
      EXPECT_ERROR(run.run([&](Message& message) {
        if (number++ != at) return;
        if (way == 0) message.kind += 1;
        if (way == 1) message.payload.pop_back();
        if (way == 2) message.payload[1] ^= 1;  // of the number in front
      }),
                   ErrorCode::malformed, "regression")
          << at << " " << way;
    }
  }
  // Means of products that no columns of deviation 1 have, and weights that are no numbers.
  for (const RegressionMessage kind : {RegressionMessage::moments, RegressionMessage::feature_weights}) {
    RidgeRun run(job);
    EXPECT_ERROR(run.run([kind](Message& message) {
      if (message.kind != static_cast<uint16_t>(kind)) return;
      for (size_t i = 4; i < 12; ++i) message.payload[i] = 0x7f;
      message.payload[10] = 0xf0;
    }),
                 ErrorCode::malformed, "no number");
  }
  EXPECT_ERROR(whole.party(0).receive(whole.said()[0]), ErrorCode::malformed, "nothing any more");
  RegressionShape wide = job.shape();
  wide.feature_columns = kProductColumnsMax;
  EXPECT_ERROR(ProductDealing::make(wide, 0, test::seed_of(1), test::seed_of(2)), ErrorCode::invalid_argument,
               "at most 1024 columns");
}

}  // namespace
}  // namespace coterie::vertical
