// What is stored does not fit together: the round is not finalized, and no model comes of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/fl_server/finalize/finalizer_fixture.h"

namespace coterie {
namespace {

using test::FrozenRound;
using test::some_values;
using test::TestUpdate;

constexpr size_t kValues = 1'000;
const StrategySettings kFedAvg;
const StrategySettings kFedAdam = StrategySettings::of("fedadam");

std::vector<TestUpdate> three_updates() {
  return {{some_values(1, kValues, 1), 3}, {some_values(2, kValues, 1), 1}, {some_values(3, kValues, 1), 12}};
}

class FinalizerDamage : public testing::Test {
 protected:
  // An error that trying again does not heal, and no blob that was not there before.
  void expect_damage(const char* words) {
    const size_t before = round_.blobs_.list(Millis(0))->size();
    const auto finalized = round_.finalize();
    ASSERT_FALSE(finalized) << "expected: " << words;
    EXPECT_THAT(finalized.error().message(), testing::HasSubstr(words));
    EXPECT_EQ(traits(finalized.error().code()).retry, RetryClass::never);
    EXPECT_EQ(round_.blobs_.list(Millis(0))->size(), before);
  }
  FrozenRound round_{kFedAvg, some_values(9, kValues, 1)};
};

TEST_F(FinalizerDamage, IsNoneToBeginWith) {
  round_.add_partial("p", three_updates());
  EXPECT_OK(round_.finalize());
}

TEST_F(FinalizerDamage, IsARoundThatNobodyIsCountedIn) { expect_damage("hold 0 updates, 0 are accepted"); }

TEST_F(FinalizerDamage, IsEveryBitThatIsNotWhatItWas) {
  const Digest digest = round_.add_partial("p", three_updates());
  for (const auto& [blobs, name] :
       {std::pair(&round_.partials_, digest), std::pair(&round_.blobs_, round_.base_.digest)}) {
    const Bytes whole = blobs->bytes_of(name);
    for (size_t at = 0; at < whole.size(); at += at < 200 ? 1 : 331) {
      blobs->bytes_of(name)[at] ^= static_cast<uint8_t>(1 << (at % 8));
      expect_damage("");
      blobs->bytes_of(name)[at] = whole[at];
    }
    blobs->bytes_of(name).back() ^= 0x80;
    expect_damage("does not have the digest it is named by");
    blobs->bytes_of(name) = whole;
  }
  EXPECT_OK(round_.finalize()) << "all is as it was";
}

TEST_F(FinalizerDamage, IsABlobThatIsCutOrGone) {
  const Digest digest = round_.add_partial("p", three_updates());
  for (const auto& [blobs, name] :
       {std::pair(&round_.partials_, digest), std::pair(&round_.blobs_, round_.base_.digest)}) {
    const Bytes whole = blobs->bytes_of(name);
    for (size_t size :
         {size_t{0}, size_t{23}, size_t{24}, size_t{64}, whole.size() - 4, whole.size() - 1, whole.size() + 1}) {
      blobs->bytes_of(name).resize(size);
      expect_damage("");
      blobs->bytes_of(name) = whole;
    }
    EXPECT_OK(blobs->remove(name));
    expect_damage("no such blob");
    *blobs->put(whole);
  }
  EXPECT_OK(round_.finalize()) << "all is as it was";
}

TEST_F(FinalizerDamage, IsARowWithoutItsShareOfUpdates) {
  const PartialSumHeader header = round_.header_of("p", three_updates());
  round_.accept(header, round_.put_partial(header, round_.lanes_of(three_updates())), 2);
  expect_damage("hold 3 updates, 2 are accepted");
}

TEST_F(FinalizerDamage, IsAPartialOfOtherTotalsThanItsRow) {
  const std::vector<uint64_t> lanes = round_.lanes_of(three_updates());
  const PartialSumHeader row = round_.header_of("p", three_updates());
  const auto finalize_with = [&](const PartialSumHeader& in_blob) {
    FrozenRound round(kFedAvg, some_values(9, kValues, 1));
    round.accept(row, round.put_partial(in_blob, lanes), 3);
    return round.finalize();
  };
  EXPECT_OK(finalize_with(row));
  PartialSumHeader other = row;
  other.updates = 2;
  EXPECT_ERROR(finalize_with(other), ErrorCode::data_loss, "partial p is not what its row says");
  other = row;
  other.weight_sum += 1;
  EXPECT_ERROR(finalize_with(other), ErrorCode::data_loss, "partial p is not what its row says");
  other = row;
  other.partial = "q";
  EXPECT_ERROR(finalize_with(other), ErrorCode::data_loss, "partial p is not what its row says");
  other = row;
  other.round.attempt = Attempt(2);
  EXPECT_ERROR(finalize_with(other), ErrorCode::data_loss, "partial p is not what its row says");
  other = row;
  other.round.round = RoundId(99);
  EXPECT_ERROR(finalize_with(other), ErrorCode::data_loss, "partial p is not what its row says");
}

TEST_F(FinalizerDamage, IsAPartialOfAnotherModel) {
  PartialSumHeader header = round_.header_of("p", three_updates());
  header.value_count = kValues - 8;
  round_.accept(header, round_.put_partial(header, std::vector<uint64_t>(header.value_count)), 3);
  expect_damage("partial p is not what its row says");
}

TEST_F(FinalizerDamage, IsAModelOfAnotherSizeThanThePlans) {
  round_.add_partial("p", three_updates());
  round_.job_.value_count = kValues + 1;
  expect_damage("another size than the job's plan");
}

TEST_F(FinalizerDamage, IsAPayloadThatIsNoWholeNumberOfFloats) {
  round_.add_partial("p", three_updates());
  const Bytes odd = build_frame(FrameKind::model, as_bytes("a graph"), Bytes(kValues * sizeof(float) + 3));
  round_.base_.digest = *round_.blobs_.put(odd);
  expect_damage("");
}

TEST_F(FinalizerDamage, AreMoreUpdatesThanASumCanHold) {
  PartialSumHeader header = round_.header_of("p", three_updates());
  header.updates = round_.fixed_point().contributors_max + 1;
  header.weight_sum = header.updates;
  round_.accept(header, round_.put_partial(header, std::vector<uint64_t>(kValues)), header.updates);
  expect_damage("more updates are accepted than the plan's sums can hold");
}

TEST(Finalizer, MakesNoModelThatIsNotFinite) {
  for (const StrategySettings& strategy : {kFedAvg, kFedAdam}) {
    FrozenRound round(strategy.with("server_learning_rate", 3e38f), some_values(9, kValues, 3e38));
    round.add_partial("p", three_updates());
    EXPECT_ERROR(round.finalize(), ErrorCode::invalid_argument, "smaller learning rates");
  }
}

TEST(FinalizerMoments, AreDamagedLikeAnythingElse) {
  FrozenRound round(kFedAdam, some_values(9, kValues, 1));
  round.add_partial("p1", three_updates());
  const auto first = round.finalize();
  ASSERT_OK(first);
  round.commit(*first);
  round.add_partial("p2", three_updates());
  ASSERT_OK(round.finalize());

  Bytes& state = round.blobs_.bytes_of(*round.base_.optimizer_state);
  state.back() ^= 1;
  EXPECT_ERROR(round.finalize(), ErrorCode::data_loss, "does not have the digest");
  state.back() ^= 1;
  const OptimizerStateHeader other{2, 1, kValues - 8, 2};
  Bytes smaller = encode_head(other);
  smaller.resize(smaller.size() + (kValues - 8) * 2 * sizeof(float));
  round.base_.optimizer_state = *round.blobs_.put(smaller);
  EXPECT_ERROR(round.finalize(), ErrorCode::data_loss, "the optimizer's state is of another model");
  for (const OptimizerStateHeader& of_another : {OptimizerStateHeader{5, 1, kValues, 2}, {2, 1, kValues, 1}}) {
    Bytes stored = encode_head(of_another);
    stored.resize(stored.size() + kValues * of_another.vectors * sizeof(float));
    round.base_.optimizer_state = *round.blobs_.put(stored);
    EXPECT_ERROR(round.finalize(), ErrorCode::data_loss, "the optimizer's state is not of fedadam");
  }
  round.base_.optimizer_state = Digest{};
  EXPECT_ERROR(round.finalize(), ErrorCode::not_found, "");
}

}  // namespace
}  // namespace coterie
