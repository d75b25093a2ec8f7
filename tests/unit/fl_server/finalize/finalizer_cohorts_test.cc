// A rule over cohorts: what it makes of the sums of sessions, each behind masks of its own, is what it makes of their
// means in the clear.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "aggregation/accumulate/cohort_sums.h"
#include "aggregation/robust/registry.h"
#include "base/log.h"
#include "secure/crypto/random.h"
#include "tests/unit/fl_server/finalize/finalizer_fixture.h"
#include "tests/unit/fl_server/finalize/kept_updates_fixture.h"

namespace coterie {
namespace {

using test::FrozenRound;
using test::some_values;
using test::TestUpdate;

constexpr size_t kValues = 40'000;  // more than a tile
const StrategySettings kFedAvg = StrategySettings::of("fedavg");

// A cohort's session, secret and updates.
struct TestCohort {
  Digest session;
  Secret<32> seed;
  std::vector<TestUpdate> updates;
};

class FinalizeCohorts : public testing::Test {
 protected:
  explicit FinalizeCohorts(size_t values = kValues) : base_(some_values(1, values, 1)) {
    parameters_.lane_count = values + 1;
    parameters_.ring_bits = 64;
    for (uint8_t i = 0; i < 5; ++i) {
      TestCohort cohort;
      cohort.session.bytes.fill(static_cast<uint8_t>(200 - 30 * i));
      fill_random(cohort.seed.mutable_bytes());
      for (uint64_t j = 0; j < 3; ++j) cohort.updates.push_back({some_values(10 * i + j, values, 1)});
      cohorts_.push_back(std::move(cohort));
    }
  }

  std::unique_ptr<FrozenRound> round(const AggregationSettings& aggregation, uint32_t weight_max = 1) const {
    return std::make_unique<FrozenRound>(kFedAvg, base_, [&](HorizontalSettings& settings) {
      settings.aggregation = aggregation;
      settings.privacy.level = SecurityLevel::masked;
      settings.update.weight_max = weight_max;
    });
  }
  static MaskSum mask(const TestCohort& cohort, MaskSign sign) {
    MaskSum sum = *MaskSum::make(CipherSuite::aes256_ctr);
    EXPECT_OK(sum.add(cohort.seed, sign));
    return sum;
  }
  // The lanes of one update; the cohort's mask is on its first.
  std::vector<uint64_t> lanes_of(const FrozenRound& round, const TestCohort& cohort, size_t update) const {
    std::vector<uint64_t> lanes = round.lanes_of({cohort.updates[update]});
    lanes.push_back(cohort.updates[update].weight);
    std::vector<uint64_t> checks(secagg::check_lane_count(parameters_));
    secagg::write_check_lanes<uint64_t>(parameters_, cohort.session, checks);
    lanes.insert(lanes.end(), checks.begin(), checks.end());
    if (update == 0) mask(cohort, MaskSign::plus).apply(0, std::span(lanes));
    return lanes;
  }
  // A batch of these: cohort and update.
  void add(FrozenRound& round, const std::string& id, const std::vector<std::pair<size_t, size_t>>& updates) const {
    CohortSums sums(parameters_.lane_count + secagg::check_lane_count(parameters_));
    for (const auto& [cohort, update] : updates) {
      const std::vector<uint64_t> lanes = lanes_of(round, cohorts_[cohort], update);
      sums.merge_masked(std::span(lanes), cohorts_[cohort].session);
    }
    const auto count = static_cast<uint32_t>(updates.size());
    const PartialSumHeader header{round.round_.key, id, count, count, sums.lane_count()};
    round.accept(header, round.put_partial(header, {sums.lanes().begin(), sums.lanes().end()}), count);
  }
  // All of them, in batches of so many that begin with another cohort each.
  void add_all(FrozenRound& round, size_t batch, size_t first = 0) const {
    std::vector<std::pair<size_t, size_t>> all;
    for (size_t i = 0; i < cohorts_.size(); ++i) {
      const size_t cohort = (first + i) % cohorts_.size();
      for (size_t j = 0; j < cohorts_[cohort].updates.size(); ++j) all.emplace_back(cohort, j);
    }
    for (size_t begin = 0; begin < all.size(); begin += batch) {
      const size_t end = std::min(all.size(), begin + batch);
      add(round, "p/" + std::to_string(begin),
          {all.begin() + static_cast<std::ptrdiff_t>(begin), all.begin() + static_cast<std::ptrdiff_t>(end)});
    }
  }
  SumMasks masks() const {
    SumMasks masks{.parameters = parameters_, .sessions = {}, .masks = {}};
    for (const TestCohort& cohort : cohorts_) {
      masks.sessions.push_back({cohort.session, cohort.updates.size()});
      masks.masks.push_back(mask(cohort, MaskSign::minus));
    }
    return masks;
  }
  static Result<FinalizedRound> finalize(FrozenRound& round, const SumMasks& masks) {
    return Finalizer(round.rounds_, round.rounds_, round.blobs_, round.partials_, round.noise_, {})
        .finalize(round.job_, round.round_, round.base_, wall_time_from_unix_ms(7), &masks);
  }
  // A round without masks of so many devices as there are cohorts, each of whom sends the mean of one.
  std::vector<float> in_the_clear(const AggregationSettings& aggregation, const std::vector<size_t>& cohorts) const {
    FrozenRound round(kFedAvg, base_, [&](HorizontalSettings& settings) {
      settings.aggregation = aggregation;
      settings.update.weight_max = 1;
    });
    std::vector<test::OneUpdate> means;
    for (const size_t cohort : cohorts) {
      std::vector<float> mean(base_.size());
      for (size_t i = 0; i < mean.size(); ++i) {
        double sum = 0;
        for (const TestUpdate& update : cohorts_[cohort].updates) sum += static_cast<double>(update.values[i]);
        mean[i] = static_cast<float>(sum / static_cast<double>(cohorts_[cohort].updates.size()));
      }
      means.push_back({static_cast<uint8_t>(1 + cohort), std::move(mean)});
    }
    test::add_kept(round, "p", means);
    const auto finalized = round.finalize();
    EXPECT_OK(finalized);
    return finalized ? round.weights_of(finalized->model) : std::vector<float>();
  }

  std::vector<float> base_;
  secagg::SessionParameters parameters_;
  std::vector<TestCohort> cohorts_;
};

TEST_F(FinalizeCohorts, EveryRuleMakesOfThemWhatItMakesOfTheirMeansInTheClear) {
  for (const RobustRule* rule : robust_rules()) {
    const AggregationSettings aggregation = AggregationSettings::of(rule->name);
    if (aggregation.updates_min() > cohorts_.size()) continue;
    const auto masked = round(aggregation);
    add_all(*masked, 4);
    const auto finalized = finalize(*masked, masks());
    ASSERT_OK(finalized);
    EXPECT_EQ(finalized->totals.updates, 15u);
    EXPECT_EQ(finalized->totals.weight, 15u);
    EXPECT_EQ(finalized->model.update_cosines, std::nullopt) << "rows are cohorts, and no updates";
    // Sums of fixed-point numbers, and a float each.
    EXPECT_THAT(masked->weights_of(finalized->model),
                testing::Pointwise(testing::FloatNear(1e-5f), in_the_clear(aggregation, {0, 1, 2, 3, 4})))
        << rule->name;
  }
}

// Sessions are called otherwise in every run, and updates come in another order.
TEST_F(FinalizeCohorts, TheBitsDependOnNeitherNamesNorBatchesNorOrder) {
  for (const char* rule : {"geometric_median", "multi_krum", "trimmed_mean"}) {
    const auto one = round(AggregationSettings::of(rule));
    add_all(*one, 15);
    const auto first = finalize(*one, masks());
    ASSERT_OK(first);
    for (TestCohort& cohort : cohorts_) cohort.session.bytes.fill(static_cast<uint8_t>(~cohort.session.bytes[0]));
    const auto other = round(AggregationSettings::of(rule));
    add_all(*other, 2, 3);
    const auto second = finalize(*other, masks());
    ASSERT_OK(second);
    EXPECT_EQ(first->model.digest, second->model.digest) << rule;
    EXPECT_NE(first->model.digest, one->base_.digest) << rule;
  }
}

TEST_F(FinalizeCohorts, ALieInOneOfThemMovesNoMedian) {
  cohorts_[2].updates[1].values.assign(kValues, -60);
  const AggregationSettings median = AggregationSettings::of("median");
  const auto masked = round(median);
  add_all(*masked, 4);
  const auto finalized = finalize(*masked, masks());
  ASSERT_OK(finalized);
  const std::vector<float> weights = masked->weights_of(finalized->model);
  for (size_t i = 0; i < kValues; ++i) EXPECT_NEAR(weights[i], base_[i], 1.01f) << i;
}

TEST_F(FinalizeCohorts, WeighAsTheirDevicesDoWhereTheRuleWeighs) {
  for (TestCohort& cohort : cohorts_) {
    for (TestUpdate& update : cohort.updates) update = {std::vector<float>(kValues, 1)};
  }
  for (TestUpdate& update : cohorts_[0].updates) update = {std::vector<float>(kValues, 2), 9};
  const auto masked = round(AggregationSettings::of("geometric_median").with("iterations", 1000), 9);
  add_all(*masked, 4);
  const auto finalized = finalize(*masked, masks());
  ASSERT_OK(finalized);
  EXPECT_EQ(finalized->totals.weight, 27u + 12);
  EXPECT_NEAR(masked->weights_of(finalized->model)[0], base_[0] + 2, 1e-3f) << "27 of 39";
}

std::string g_log;

class FinalizeCohortsDamage : public FinalizeCohorts {
 protected:
  FinalizeCohortsDamage() : FinalizeCohorts(100), round_(round(AggregationSettings::of("median"))) { g_log.clear(); }
  Result<FinalizedRound> finalize_logged(const SumMasks& masks) {
    set_log_sink(+[](LogLevel level, std::string_view event, std::span<const LogField> fields) {
      g_log += to_json_line(level, event, fields);
    });
    auto finalized = finalize(*round_, masks);
    set_log_sink(nullptr);
    return finalized;
  }
  void expect_model_without(size_t cohort) {
    const auto finalized = finalize_logged(masks());
    ASSERT_OK(finalized);
    std::vector<size_t> others{0, 1, 2, 3, 4};
    std::erase(others, cohort);
    EXPECT_THAT(round_->weights_of(finalized->model),
                testing::Pointwise(testing::FloatNear(1e-5f), in_the_clear(AggregationSettings::of("median"), others)));
    EXPECT_THAT(g_log, testing::HasSubstr("cohort_left_out"));
  }

  std::unique_ptr<FrozenRound> round_;
};

TEST_F(FinalizeCohortsDamage, NoneIsFine) {
  add_all(*round_, 4);
  EXPECT_OK(finalize_logged(masks()));
  EXPECT_EQ(g_log, "");
}

TEST_F(FinalizeCohortsDamage, ACohortWhoseWeightsNobodyCanHaveIsLeftOut) {
  cohorts_[3].updates[2].weight = 1'000'000;
  for (float& value : cohorts_[3].updates[2].values) value = 0;
  add_all(*round_, 4);
  expect_model_without(3);
}

TEST_F(FinalizeCohortsDamage, ACohortWhoseMasksDoNotCancelIsLeftOut) {
  add_all(*round_, 4);
  fill_random(cohorts_[1].seed.mutable_bytes());
  expect_model_without(1);
}

TEST_F(FinalizeCohortsDamage, TooFewAreNoRound) {
  add_all(*round_, 4);
  for (const size_t cohort : {0u, 2u, 4u}) fill_random(cohorts_[cohort].seed.mutable_bytes());
  EXPECT_ERROR(finalize_logged(masks()), ErrorCode::data_loss, "median needs 3 cohorts, and of the round's 5 can be");
}

TEST_F(FinalizeCohortsDamage, ValuesBeyondThePlanAreClippedToIt) {
  const float bound = round_->fixed_point().value_abs_max;
  for (const size_t cohort : {0u, 1u, 2u}) {
    for (TestUpdate& update : cohorts_[cohort].updates) update.values.assign(100, 100 * bound);
  }
  add_all(*round_, 4);
  const auto finalized = finalize_logged(masks());
  ASSERT_OK(finalized);
  EXPECT_EQ(round_->weights_of(finalized->model)[0], base_[0] + bound);
}

TEST_F(FinalizeCohortsDamage, MasksOfAnotherSumAreSeen) {
  add_all(*round_, 4);
  SumMasks others = masks();
  --others.sessions[0].updates;
  EXPECT_ERROR(finalize_logged(others), ErrorCode::data_loss, "masks are not those of the cohorts' sums");
  others = masks();
  others.sessions[0].session.bytes.fill(1);
  EXPECT_ERROR(finalize_logged(others), ErrorCode::data_loss, "a cohort that is not the round's");
}

TEST_F(FinalizeCohortsDamage, LanesOfOneSumAreSeen) {
  const PartialSumHeader header{round_->round_.key, "p", 1, 1, 100};
  round_->accept(header, round_->put_partial(header, std::vector<uint64_t>(100)), 1);
  EXPECT_ERROR(finalize_logged(masks()), ErrorCode::data_loss, "is not what its row says");
}

TEST_F(FinalizeCohortsDamage, RowsThatCountOthersAreSeen) {
  add_all(*round_, 4);
  const PartialSumHeader header{round_->round_.key, "q", 1, 1, 0};
  round_->accept(header, round_->put_partial(header, {}), 1);
  EXPECT_ERROR(finalize_logged(masks()), ErrorCode::data_loss, "not of as many updates as its row says");
}

}  // namespace
}  // namespace coterie
