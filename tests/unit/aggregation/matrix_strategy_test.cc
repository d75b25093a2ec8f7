// Strategies that move linear maps as a whole. What they do with other values: strategy_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "aggregation/strategy/strategy_matrix.h"
#include "aggregation/strategy/strategy_settings.h"
#include "base/linear/matrix_blocks.h"
#include "base/random.h"

namespace coterie {
namespace {

std::vector<float> random_values(size_t count, uint64_t seed, double scale = 1) {
  Prng prng(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(prng.normal() * scale);
  return values;
}

// A linear map that a strategy moves as a whole.
struct MovedMatrix {
  MovedMatrix(const StrategySettings& strategy, size_t matrix_rows, size_t matrix_columns, std::vector<float> start)
      : settings(strategy), rows(matrix_rows), columns(matrix_columns), weights(std::move(start)) {
    for (size_t i = 0; i < settings.rule->state_vectors; ++i) state.emplace_back(weights.size());
  }
  const std::vector<float>& by(const std::vector<float>& mean) {
    const std::vector<std::span<float>> pieces(state.begin(), state.end());
    std::vector<float> step(weights.size());
    settings.rule->move_matrix(
        {.rows = rows, .columns = columns, .mean = mean, .settings = settings.values, .state = pieces, .step = step});
    for (size_t i = 0; i < step.size(); ++i) weights[i] += step[i];
    return weights;
  }

  StrategySettings settings;
  size_t rows, columns;
  std::vector<float> weights;
  std::vector<std::vector<float>> state;
};

// Three rounds of a matrix of 2 x 3, by ten lines of NumPy in double; means are gradients, with the sign turned.
void expect_matrix(const StrategySettings& settings, const std::vector<double>& expected) {
  const std::vector<std::vector<float>> means = {
      {-.1f, .2f, -.3f, -.4f, -.5f, .6f}, {.3f, -.2f, -.1f, -.05f, .15f, -.25f}, {-.2f, -.2f, .1f, .4f, -.3f, -.1f}};
  const auto turned = [](const std::vector<float>& x) {
    return std::vector<float>{x[0], x[3], x[1], x[4], x[2], x[5]};
  };
  const std::vector<float> start = {.5f, -1, .25f, 1.5f, .75f, -.5f};
  MovedMatrix wide(settings, 2, 3, start), tall(settings, 3, 2, turned(start));
  for (const std::vector<float>& mean : means) {
    wide.by(mean);
    tall.by(turned(mean));
  }
  const std::vector<float> tall_expected = turned({expected.begin(), expected.end()});
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(wide.weights[i], expected[i], 1e-6) << i;
    EXPECT_NEAR(tall.weights[i], tall_expected[i], 1e-6) << i;
  }
}

// A step is so long as AdamW's usual one, so that these rates come to 0.02 and 0.1 times the direction.
const float kMuonRate = static_cast<float>(.02 / (.2 * std::sqrt(3.0)));
const float kShampooRate = static_cast<float>(.1 / (.2 * std::sqrt(3.0)));

TEST(FedMuon, MovesAMatrixAsMuonDoes) {
  expect_matrix(StrategySettings::of("fedmuon").with("server_learning_rate", kMuonRate).with("momentum", .95f),
                {.4793451841, -1.0150268079, .2199754666, 1.4860935515, .7184578501, -.4940833563});
}

TEST(FedShampoo, MovesAMatrixAsShampooDoes) {
  expect_matrix(StrategySettings::of("fedshampoo").with("server_learning_rate", kShampooRate),
                {.4538285108, -1.0658574911, .1567444235, 1.4693252107, .6596223801, -.4974065481});
}

// Blocks know nothing of each other: what lies in one moves as if it were the whole matrix.
TEST(FedShampoo, MovesBlocksApartAndHasRoomForAllOfThem) {
  for (const auto& [rows, columns] : {std::pair<size_t, size_t>{150, 9}, {5, 33}, {130, 131}}) {
    const MatrixBlocks blocks(rows, columns);
    ASSERT_GT(blocks.count(), 1u);
    const StrategySettings settings = StrategySettings::of("fedshampoo");
    const size_t last = blocks.count() - 1;
    for (const size_t i : {size_t{0}, last}) {
      const MatrixBlock block = blocks[i];
      MovedMatrix part(settings, block.rows, block.columns, std::vector<float>(block.rows * block.columns));
      MovedMatrix whole(settings, rows, columns, std::vector<float>(rows * columns));
      for (const uint64_t round : {1, 2}) {
        const std::vector<float> mean = random_values(rows * columns, round);
        const auto taken = [&](const std::vector<float>& from) {
          std::vector<float> values;
          for (size_t r = 0; r < block.rows; ++r) {
            const auto row = from.begin() + static_cast<ptrdiff_t>((block.row + r) * columns + block.column);
            values.insert(values.end(), row, row + static_cast<ptrdiff_t>(block.columns));
          }
          return values;
        };
        EXPECT_EQ(taken(whole.by(mean)), part.by(taken(mean))) << i;
      }
    }
  }
}

// However large a mean is, and wherever nobody has moved anything.
TEST(Matrices, AStepHasOneLengthAndAMeanOfNothingMovesNothing) {
  for (const char* name : {"fedmuon", "fedshampoo"}) {
    const StrategySettings settings = StrategySettings::of(name).with("server_learning_rate", 1);
    for (const double scale : {1e-2, 1e3}) {
      MovedMatrix moved(settings, 20, 30, std::vector<float>(600));
      double squares = 0;
      for (const float w : moved.by(random_values(600, 3, scale))) squares += static_cast<double>(w * w);
      EXPECT_NEAR(std::sqrt(squares / 600), .2, .06) << name << " " << scale;
    }
    MovedMatrix moved(settings, 20, 30, std::vector<float>(600, 1));
    EXPECT_THAT(moved.by(std::vector<float>(600)), testing::Each(1)) << name;
  }
}

}  // namespace
}  // namespace coterie
