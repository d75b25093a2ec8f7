// A round with secure aggregation finalizes to the same bytes as one without, or not at all.
#include <gtest/gtest.h>

#include "secure/crypto/random.h"
#include "secure/secagg/check_lanes.h"
#include "tests/unit/fl_server/finalize/finalizer_fixture.h"

namespace coterie {
namespace {

using test::FrozenRound;
using test::TestUpdate;

constexpr size_t kValues = 40'000;  // more than a tile

// Three updates with weights in two partial sums, with and without masks.
class FinalizeMasked : public testing::Test {
 protected:
  FinalizeMasked() : weights_(test::some_values(1, kValues, 1)) {
    for (uint32_t i = 0; i < 3; ++i) updates_.push_back({test::some_values(10 + i, kValues, 0.5), i + 1});
    parameters_.lane_count = kValues + 1;
    parameters_.ring_bits = 64;
    session_.bytes.fill(5);
    fill_random(seed_.mutable_bytes());
  }

  // The lanes of some updates as their devices would send them, summed, before masks.
  std::vector<uint64_t> lanes_of(const FrozenRound& round, const std::vector<TestUpdate>& updates) const {
    std::vector<uint64_t> lanes = round.lanes_of(updates);
    std::vector<uint64_t> checks(secagg::check_lane_count(parameters_));
    secagg::write_check_lanes<uint64_t>(parameters_, session_, checks);
    uint64_t weight = 0;
    for (const TestUpdate& update : updates) weight += update.weight;
    lanes.push_back(weight);
    for (const uint64_t check : checks) lanes.push_back(check * updates.size());
    return lanes;
  }
  void add(FrozenRound& round, const std::string& id, const std::vector<TestUpdate>& updates, bool with_mask) const {
    std::vector<uint64_t> lanes = lanes_of(round, updates);
    if (with_mask) mask(MaskSign::plus).apply(0, std::span(lanes));
    PartialSumHeader header = round.header_of(id, updates);
    header.value_count = lanes.size();
    header.weight_sum = header.updates;  // nobody knows the weights
    round.accept(header, round.put_partial(header, lanes), updates.size());
  }
  MaskSum mask(MaskSign sign) const {
    MaskSum sum = *MaskSum::make(CipherSuite::aes256_ctr);
    EXPECT_OK(sum.add(seed_, sign));
    return sum;
  }
  Result<FinalizedRound> finalize(FrozenRound& round, uint64_t survivors = 3) const {
    const SumMasks masks{parameters_, {{session_, survivors}}, test::masks_of_one(mask(MaskSign::minus))};
    return Finalizer(round.rounds_, round.rounds_, round.blobs_, round.partials_, round.noise_, {})
        .finalize(round.job_, round.round_, round.base_, wall_time_from_unix_ms(7), &masks);
  }

  std::vector<float> weights_;
  std::vector<TestUpdate> updates_;
  secagg::SessionParameters parameters_;
  Digest session_;
  Secret<32> seed_;
};

TEST_F(FinalizeMasked, GivesTheBytesOfARoundWithoutMasks) {
  for (const StrategySettings& strategy : {StrategySettings::of("fedavg"), StrategySettings::of("fedadam")}) {
    FrozenRound plain(strategy, weights_), masked(strategy, weights_);
    plain.add_partial("p/1/1", {updates_[0], updates_[1]});
    plain.add_partial("p/1/2", {updates_[2]});
    add(masked, "p/1/1", {updates_[0], updates_[1]}, true);
    add(masked, "p/1/2", {updates_[2]}, false);
    const auto expected = plain.finalize();
    const auto seen = finalize(masked);
    ASSERT_OK(expected);
    ASSERT_OK(seen);
    EXPECT_EQ(seen->model.digest, expected->model.digest);
    EXPECT_EQ(seen->model.optimizer_state, expected->model.optimizer_state);
    EXPECT_EQ(seen->totals.weight, 6u);
    EXPECT_EQ(seen->totals.updates, 3u);
  }
}

// Two cohorts, each with a mask and a session of its own; their sums lie in one partial, or in two.
TEST_F(FinalizeMasked, CohortsAreAddedUp) {
  FrozenRound plain({}, weights_), masked({}, weights_);
  plain.add_partial("p/1/1", updates_);
  const Digest first = session_;
  add(masked, "p/1/1", {updates_[0], updates_[1]}, true);
  session_.bytes.fill(6);
  add(masked, "p/1/2", {updates_[2]}, true);
  const auto finalize_as = [&](std::vector<secagg::SummedSession> sessions) {
    std::vector<MaskSum> masks = test::masks_of_one(mask(MaskSign::minus));
    masks.push_back(mask(MaskSign::minus));
    const SumMasks of_all{parameters_, std::move(sessions), std::move(masks)};
    return Finalizer(masked.rounds_, masked.rounds_, masked.blobs_, masked.partials_, masked.noise_, {})
        .finalize(masked.job_, masked.round_, masked.base_, wall_time_from_unix_ms(7), &of_all);
  };
  EXPECT_ERROR(finalize_as({{first, 1}, {session_, 2}}), ErrorCode::data_loss, "masks did not cancel");
  const auto expected = plain.finalize();
  const auto seen = finalize_as({{first, 2}, {session_, 1}});
  ASSERT_OK(expected);
  ASSERT_OK(seen);
  EXPECT_EQ(seen->model.digest, expected->model.digest);
  EXPECT_EQ(seen->totals.weight, 6u);
}

TEST_F(FinalizeMasked, MasksThatDoNotCancelAreSeen) {
  FrozenRound round({}, weights_);
  add(round, "p/1/1", updates_, false);  // there was no mask to take off
  EXPECT_ERROR(finalize(round), ErrorCode::data_loss, "masks did not cancel");
}

TEST_F(FinalizeMasked, AnotherNumberOfSurvivorsIsSeen) {
  FrozenRound round({}, weights_);
  add(round, "p/1/1", updates_, true);
  EXPECT_ERROR(finalize(round, 4), ErrorCode::data_loss, "not those of this sum");
}

TEST_F(FinalizeMasked, WeightsBeyondThePlanAreSeen) {
  FrozenRound round({}, weights_);
  updates_[1].weight = 4 * round.fixed_point().weight_max;
  add(round, "p/1/1", updates_, true);
  EXPECT_ERROR(finalize(round), ErrorCode::data_loss, "no devices that follow the plan can have");
}

}  // namespace
}  // namespace coterie
