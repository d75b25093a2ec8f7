#include <limits>

#include "proto/generated/state_generated.h"
#include "tests/unit/proto/rejection.h"

namespace coterie {
namespace {

using test::expect_accepted;
using test::expect_rejected;
using test::MessageTraits;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

Bytes header_of(const Bytes& head) {
  const Result<Prelude> prelude = parse_prelude(head);
  return Bytes(head.begin() + kPreludeBytes, head.begin() + kPreludeBytes + prelude->header_bytes);
}

TEST(CheckpointCodec, NamesTheFieldItRejects) {
  using M = CheckpointHeader;
  expect_rejected<M>("slots must be at most 2", [](M& m) { m.slots = 3; });
  expect_rejected<M>("position must be at most examples", [](M& m) { m.position = m.examples + 1; });
  expect_rejected<M>("loss_sum", [](M& m) { m.loss_sum = kNaN; });
  expect_rejected<M>("loss_sum", [](M& m) { m.loss_sum = -kInf; });
  expect_accepted<M>([](M& m) { m.position = m.examples; });
  const double infinity = std::numeric_limits<double>::infinity();
  expect_rejected<M>("epoch_loss_start must be finite", [=](M& m) { m.epoch_loss_start = infinity; });
  expect_rejected<M>("epoch_correct_start must be at most correct",
                     [](M& m) { m.epoch_correct_start = m.correct + 1; });
  expect_accepted<M>([](M& m) { m.epoch_correct_start = m.correct; });
  expect_rejected<M>("epoch_ignored_start must be at most ignored",
                     [](M& m) { m.epoch_ignored_start = m.ignored + 1; });
  expect_accepted<M>([](M& m) { m.epoch_ignored_start = m.ignored; });
  expect_rejected<M>("plateau_best must be finite", [=](M& m) { m.plateau_best = -infinity; });
  for (const double factor : {0.0, -1.0, 1.5, infinity}) {
    expect_rejected<M>("plateau_factor must be in", [=](M& m) { m.plateau_factor = factor; });
  }
}

TEST(CheckpointCodec, HasHeldOutExamplesLookedAtBehindStepsThatWereMade) {
  using M = CheckpointHeader;
  expect_rejected<M>("validation_step must be at most step", [](M& m) { m.validation_step = m.step + 1; });
  expect_accepted<M>([](M& m) { m.validation_step = m.step; });
  expect_rejected<M>("best_step must be at most validation_step", [](M& m) { m.best_step = m.validation_step + 1; });
  expect_rejected<M>("best_loss must be finite", [](M& m) { m.best_loss = kNaN; });
  expect_rejected<M>("best_loss must be finite", [](M& m) { m.best_loss = kInf; });
}

TEST(CheckpointCodec, TakesOnlyALossScaleThatTrainingReaches) {
  for (const float scale : {-1.0f, 0.5f, 0x1p25f, std::numeric_limits<float>::quiet_NaN()}) {
    expect_rejected<CheckpointHeader>("loss_scale must be 0 or in", [=](CheckpointHeader& m) { m.loss_scale = scale; });
  }
  expect_accepted<CheckpointHeader>([](CheckpointHeader& m) { m.loss_scale = 0x1p16f; });
}

// The payload is read as float32 in place: a size that is no multiple of four would be an assertion there.
TEST(CheckpointCodec, HasWholeFloatsInItsPayload) {
  for (const uint64_t bytes : {1u, 2u, 3u, 5u, 63u}) {
    expect_rejected<CheckpointHeader>("value_bytes", [bytes](CheckpointHeader& m) { m.value_bytes = bytes; });
    expect_rejected<CheckpointHeader>("factor_bytes", [bytes](CheckpointHeader& m) { m.factor_bytes = bytes; });
  }
}

TEST(CheckpointCodec, TakesExactlyThePromisedPayload) {
  CheckpointHeader header = MessageTraits<CheckpointHeader>::samples().typical;
  header.value_bytes = 8;
  header.slots = 2;
  header.examples = 3;
  header.position = 0;
  header.factor_bytes = 20;
  header.range_values = 6;
  const size_t expected = 8 * 3 + 20 + 3 * 4 + 6 * 4;
  EXPECT_OK(decode_checkpoint(test::frame_of(header, Bytes(expected))));
  for (const size_t size : {size_t{0}, expected - 1, expected + 1, expected + 4}) {
    EXPECT_ERROR(decode_checkpoint(test::frame_of(header, Bytes(size))), ErrorCode::malformed, "payload");
  }
}

TEST(CheckpointCodec, CannotBeFooledBySizesThatOverflow) {
  CheckpointHeader header = MessageTraits<CheckpointHeader>::samples().minimal;
  const auto expect_bad = [&] {
    EXPECT_ERROR(decode_checkpoint(test::frame_of(header, {})), ErrorCode::malformed, "payload");
  };
  header.examples = 1ull << 62;  // * 4 is 0 modulo 2^64
  expect_bad();
  header.examples = 0;
  header.value_bytes = 1ull << 63;
  header.slots = 1;  // * 2 is 0
  expect_bad();
  header.value_bytes = ~uint64_t{0} - 3;
  header.slots = 0;
  header.examples = 1;  // - 4 + 4 is 0
  expect_bad();
  header.value_bytes = 8;
  header.factor_bytes = ~uint64_t{0} - 11;  // + 8 + 4 is 0
  expect_bad();
}

TEST(PartialSumCodec, NamesTheFieldItRejects) {
  using M = PartialSumHeader;
  expect_rejected<M>("partial must have 1 to 256", [](M& m) { m.partial.clear(); });
  expect_rejected<M>("partial must have 1 to 256", [](M& m) { m.partial.assign(257, 'p'); });
  expect_rejected<M>("updates must be at least 1", [](M& m) { m.updates = 0; });
}

// Every update in the sum has a weight in [1, 2^24]. A sum of no weight would be divided by.
TEST(PartialSumCodec, HasAWeightThatItsUpdatesCanHave) {
  using M = PartialSumHeader;
  expect_rejected<M>("weight_sum", [](M& m) { m.weight_sum = 0; });
  expect_rejected<M>("weight_sum", [](M& m) { m.weight_sum = m.updates - 1; });
  expect_rejected<M>("weight_sum", [](M& m) { m.weight_sum = uint64_t{m.updates} * kWeightMax + 1; });
  expect_accepted<M>([](M& m) { m.weight_sum = m.updates; });
  expect_accepted<M>([](M& m) { m.weight_sum = uint64_t{m.updates} * kWeightMax; });
}

TEST(PartialSumCodec, CountsTheNormOfEachUpdateOnceOrSaysNothingOfThem) {
  using M = PartialSumHeader;
  const auto count = [](size_t bucket, uint64_t more) {
    return [=](M& m) { m.norms.emplace().counts[bucket] = m.updates + more; };
  };
  expect_accepted<M>(count(0, 0));
  expect_accepted<M>(count(kNormBuckets - 1, 0));
  expect_rejected<M>("norm_counts must count each", count(5, 1));
  expect_rejected<M>("norm_counts must count each", count(5, ~uint64_t{0}));  // one less
  expect_rejected<M>("norm_counts must count each", [](M& m) { m.norms.emplace(); });
  expect_rejected<M>("norm_counts must count each", [](M& m) {
    for (uint64_t& bucket : m.norms.emplace().counts) bucket = ~uint32_t{0};
  });
}

TEST(PartialSumCodec, HasACountForEachBucket) {
  for (const size_t size : {size_t{0}, size_t{1}, kNormBuckets - 1, kNormBuckets + 1}) {
    flatbuffers::FlatBufferBuilder builder;
    const auto partial = builder.CreateString("n");
    const auto norms = builder.CreateVector(std::vector<uint32_t>(size, 0));
    builder.Finish(state::CreatePartialSum(builder, 1, 1, partial, 1, 1, 0, norms));
    const ByteView header(builder.GetBufferPointer(), builder.GetSize());
    EXPECT_ERROR(decode_partial_sum(build_frame(FrameKind::partial_sum, header, {})), ErrorCode::malformed,
                 "norm_counts must have a count for each bucket");
  }
}

TEST(PartialSumCodec, TakesExactlyThePromisedLanes) {
  PartialSumHeader header = MessageTraits<PartialSumHeader>::samples().typical;
  header.value_count = 2;
  const Bytes bytes = header_of(encode_head(header));
  EXPECT_OK(decode_partial_sum(build_frame(FrameKind::partial_sum, bytes, Bytes(16))));
  for (const size_t size : {0u, 8u, 15u, 17u, 24u}) {
    EXPECT_ERROR(decode_partial_sum(build_frame(FrameKind::partial_sum, bytes, Bytes(size))), ErrorCode::malformed,
                 "payload has " + std::to_string(size));
  }
  header.value_count = 1ull << 61;  // * 8 is 0
  EXPECT_ERROR(decode_partial_sum(build_frame(FrameKind::partial_sum, header_of(encode_head(header)), {})),
               ErrorCode::malformed, "payload");
}

TEST(PartialSumCodec, ReadsAHeadWhoseLanesAreElsewhere) {
  const PartialSumHeader header = MessageTraits<PartialSumHeader>::samples().typical;
  const Bytes head = encode_head(header);
  const Result<Prelude> prelude = parse_prelude(head);
  ASSERT_OK(prelude);
  const Result<PartialSumHeader> decoded = decode_partial_sum_head(*prelude, header_of(head));
  ASSERT_OK(decoded);
  EXPECT_TRUE(*decoded == header);
  Prelude other = *prelude;
  other.kind = FrameKind::optimizer_state;
  EXPECT_ERROR(decode_partial_sum_head(other, header_of(head)), ErrorCode::malformed, "not a partial_sum");
  other = *prelude;
  other.payload_bytes += 8;
  EXPECT_ERROR(decode_partial_sum_head(other, header_of(head)), ErrorCode::malformed, "payload");
}

TEST(OptimizerStateCodec, NamesTheFieldItRejects) {
  using M = OptimizerStateHeader;
  expect_rejected<M>("kind must be at least 1", [](M& m) { m.strategy = 0; });
  expect_rejected<M>("vectors must be in [1, 8]", [](M& m) { m.vectors = 0; });
  expect_rejected<M>("vectors must be in [1, 8]", [](M& m) { m.vectors = kStateVectorsMax + 1; });
  expect_rejected<M>("vectors must be in [0, 8]", [](M& m) {
    m.vectors = kStateVectorsMax + 1;
    m.idle_updates = {1, 2};
  });
  for (const size_t clusters : {1u, 9u}) {
    expect_rejected<M>("idle_updates", [clusters](M& m) { m.idle_updates.resize(clusters); });
  }
}

TEST(OptimizerStateCodec, HasWhatClustersAreLeftForWithVectorsOrWithout) {
  for (const uint8_t vectors : {0, 2}) {
    const OptimizerStateHeader header{
        .strategy = 1, .step = 9, .value_count = 2, .vectors = vectors, .idle_updates = {0, 40}};
    const auto decoded = decode_optimizer_state(
        build_frame(FrameKind::optimizer_state, header_of(encode_head(header)), Bytes(vectors * 8u)));
    ASSERT_OK(decoded);
    EXPECT_TRUE(decoded->header == header);
  }
}

TEST(OptimizerStateCodec, TakesExactlyAsManyVectorsAsItSays) {
  OptimizerStateHeader header = MessageTraits<OptimizerStateHeader>::samples().typical;
  header.value_count = 2;
  const Bytes bytes = header_of(encode_head(header));
  EXPECT_OK(decode_optimizer_state(build_frame(FrameKind::optimizer_state, bytes, Bytes(16))));
  for (const size_t size : {0u, 8u, 15u, 17u, 24u}) {
    EXPECT_ERROR(decode_optimizer_state(build_frame(FrameKind::optimizer_state, bytes, Bytes(size))),
                 ErrorCode::malformed, "payload");
  }
  header.vectors = 3;
  const Bytes three = header_of(encode_head(header));
  EXPECT_OK(decode_optimizer_state(build_frame(FrameKind::optimizer_state, three, Bytes(24))));
  EXPECT_ERROR(decode_optimizer_state(build_frame(FrameKind::optimizer_state, three, Bytes(16))), ErrorCode::malformed,
               "payload");
  header.value_count = 1ull << 62;  // * 4 is 0
  EXPECT_ERROR(decode_optimizer_state(build_frame(FrameKind::optimizer_state, header_of(encode_head(header)), {})),
               ErrorCode::malformed, "payload");
}

TEST(OptimizerStateCodec, ReadsAHeadWhoseMomentsAreElsewhere) {
  const OptimizerStateHeader header = MessageTraits<OptimizerStateHeader>::samples().typical;
  const Bytes head = encode_head(header);
  const Result<Prelude> prelude = parse_prelude(head);
  ASSERT_OK(prelude);
  const Result<OptimizerStateHeader> decoded = decode_optimizer_state_head(*prelude, header_of(head));
  ASSERT_OK(decoded);
  EXPECT_TRUE(*decoded == header);
  Prelude other = *prelude;
  other.kind = FrameKind::partial_sum;
  EXPECT_ERROR(decode_optimizer_state_head(other, header_of(head)), ErrorCode::malformed, "not an optimizer_state");
}

}  // namespace
}  // namespace coterie
