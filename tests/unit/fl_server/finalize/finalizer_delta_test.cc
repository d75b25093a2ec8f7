// Rounds of a job whose models come as deltas: what is published is what a device makes of it, and what was computed
// goes on as if nothing were rounded.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "fl_server/finalize/published_model.h"
#include "proto/delta/apply_delta.h"
#include "secure/crypto/digest.h"
#include "tests/support/memory_blob_store.h"
#include "tests/support/plain_model.h"
#include "tests/unit/fl_server/finalize/finalizer_fixture.h"

namespace coterie {
namespace {

using test::FrozenRound;
using test::some_values;
using test::TestUpdate;

constexpr size_t kValues = 2 * 32 * 1024 + 4321;  // several pieces, the last one short
const StrategySettings kFedAvg = StrategySettings::of("fedavg");

std::vector<TestUpdate> updates_of(uint64_t round, size_t values = kValues) {
  return {{some_values(round * 10, values, 0.02), 3}, {some_values(round * 10 + 1, values, 0.02), 5}};
}

std::function<void(HorizontalSettings&)> in_bits(uint32_t bits, uint32_t keyframe_every = 0) {
  return [=](HorizontalSettings& settings) { settings.download = {.bits = bits, .keyframe_every = keyframe_every}; };
}

FinalizedRound finalized_by(FrozenRound& round, uint64_t number, size_t values = kValues) {
  round.add_partial("p" + std::to_string(number), updates_of(number, values));
  const auto finalized = round.finalize();
  EXPECT_OK(finalized);
  return finalized ? *finalized : FinalizedRound{};
}

TEST(FinalizerDelta, PublishesWhatADeviceMakesOfTheDelta) {
  for (const uint32_t bits : {8u, 4u, 2u}) {
    const std::vector<float> start = some_values(1, kValues, 1);
    FrozenRound plain(kFedAvg, start), round(kFedAvg, start, in_bits(bits));
    for (uint64_t number = 1; number <= 5; ++number) {
      const FinalizedRound whole = finalized_by(plain, number), done = finalized_by(round, number);
      // Four deltas of 8 bits cost more than the model.
      ASSERT_EQ(done.model.deltas.size(), std::min<size_t>(number, bits == 8 ? 3 : 5)) << bits << " bits";
      const DeltaFile& delta = done.model.deltas.back();
      EXPECT_EQ(delta.base, round.base_.digest);
      const Bytes file = round.blobs_.bytes_of(delta.file);
      EXPECT_EQ(file.size(), delta.bytes);
      EXPECT_NEAR(static_cast<double>(delta.bytes) * 32 / bits / static_cast<double>(done.model.bytes), 1, 0.08);
      const auto moved = apply_delta(round.blobs_.bytes_of(delta.base), delta.base, file, bits);
      ASSERT_OK(moved);
      EXPECT_EQ(moved->result, done.model.digest);
      EXPECT_EQ(moved->file, round.blobs_.bytes_of(done.model.digest)) << "to the bit";
      // Devices send the same updates here, so that what is computed is what an unrounded job has.
      EXPECT_EQ(done.model.exact, whole.model.digest) << bits << " bits, round " << number;
      const std::vector<float> published = round.weights_of(done.model), computed = plain.weights_of(whole.model);
      const double step = 0.1 / ((1 << (bits - 1)) - 1);
      for (size_t i = 0; i < kValues; i += 97) ASSERT_NEAR(published[i], computed[i], step) << i;
      plain.commit(whole);
      round.commit(done);
    }
  }
}

TEST(FinalizerDelta, GivesTheSameBytesWhenItIsDoneAgain) {
  FrozenRound round(kFedAvg, some_values(1, 1'000, 1), in_bits(8));
  round.add_partial("p", updates_of(1, 1'000));
  const auto first = round.finalize(), again = round.finalize();
  ASSERT_OK(first);
  ASSERT_OK(again);
  EXPECT_EQ(first->model.digest, again->model.digest);
  EXPECT_EQ(first->model.exact, again->model.exact);
  EXPECT_EQ(first->model.deltas, again->model.deltas);
}

TEST(FinalizerDelta, PublishesAKeyframeAsItIs) {
  const std::vector<float> start = some_values(1, 1'000, 1);
  FrozenRound plain(kFedAvg, start), round(kFedAvg, start, in_bits(4, 3));
  for (uint64_t number = 1; number <= 7; ++number) {
    const FinalizedRound whole = finalized_by(plain, number, 1'000), done = finalized_by(round, number, 1'000);
    EXPECT_EQ(done.model.deltas.size(), number % 3) << "a chain begins anew behind it";
    EXPECT_EQ(done.model.digest == whole.model.digest, number % 3 == 0) << number;
    EXPECT_EQ(done.model.exact.has_value(), number % 3 != 0);
    plain.commit(whole);
    round.commit(done);
  }
}

TEST(FinalizerDelta, KeepsNoChainThatCostsAsMuchAsTheModel) {
  FrozenRound round(kFedAvg, some_values(1, 10'000, 1), in_bits(8));
  for (uint64_t number = 1; number <= 6; ++number) {
    const FinalizedRound done = finalized_by(round, number, 10'000);
    uint64_t bytes = 0;
    for (const DeltaFile& delta : done.model.deltas) bytes += delta.bytes;
    EXPECT_LT(bytes, done.model.bytes);
    EXPECT_EQ(done.model.deltas.size(), std::min<size_t>(number, 3));
    round.commit(done);
  }
}

// A version named as its computed model is one that was not rounded.
struct Published {
  ModelRecord record;
  Digest computed;
  size_t blobs_added = 0;
};

Published published(const std::vector<float>& base, const std::vector<float>& next, uint32_t bits) {
  test::MemoryBlobStore blobs;
  const auto record_of = [&](const std::vector<float>& weights, uint64_t version) {
    const Bytes file = test::plain_model(weights);
    ModelRecord record;
    record.version = ModelVersion(version);
    record.digest = *blobs.put(file);
    record.bytes = file.size();
    return record;
  };
  const ModelRecord before = record_of(base, 0);
  Published made{.record = record_of(next, 1), .computed = {}};
  made.computed = made.record.digest;
  const size_t blobs_before = blobs.list(Millis(0))->size();
  EXPECT_OK(publish(blobs, {.bits = bits, .keyframe_every = 0}, before, made.record));
  made.blobs_added = blobs.list(Millis(0))->size() - blobs_before;
  return made;
}

// Half a step more than what was computed is beyond float32.
TEST(FinalizerDelta, PublishesAKeyframeWhereRoundingWouldLeadBeyondFloat32) {
  const float most = std::numeric_limits<float>::max();
  std::vector<float> base(1'000), next(1'000);
  base[0] = most - 0.6e38f;
  next[0] = most;
  next[1] = 1e38f;
  const Published far = published(base, next, 2);
  EXPECT_EQ(far.record.digest, far.computed);
  EXPECT_FALSE(far.record.exact);
  EXPECT_TRUE(far.record.deltas.empty());
  EXPECT_EQ(far.blobs_added, 0u);
  next[0] = base[0];
  EXPECT_EQ(published(base, next, 2).record.deltas.size(), 1u);
}

TEST(FinalizerDelta, TellsDamageOfTheComputedModel) {
  FrozenRound round(kFedAvg, some_values(1, 1'000, 1), in_bits(8));
  round.commit(finalized_by(round, 1, 1'000));
  Bytes& exact = round.blobs_.bytes_of(*round.base_.exact);
  exact.back() ^= 1;
  round.add_partial("next", updates_of(2, 1'000));
  EXPECT_ERROR(round.finalize(), ErrorCode::data_loss, "digest");
}

}  // namespace
}  // namespace coterie
