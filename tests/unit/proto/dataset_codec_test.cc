#include <cstring>
#include <limits>

#include "proto/codec/limits.h"
#include "tests/unit/proto/rejection.h"

namespace coterie {
namespace {

using test::expect_accepted;
using test::expect_rejected;
using M = DatasetHeader;

Bytes frame_with_payload(const M& header, size_t payload_bytes) {
  const Bytes head = encode_head(header);
  return build_frame(FrameKind::dataset, Bytes(head.begin() + kPreludeBytes, head.end()), Bytes(payload_bytes));
}

TEST(DatasetCodec, NamesTheFieldItRejects) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  expect_rejected<M>("name must have 0 to 256", [](M& m) { m.name.assign(257, 'n'); });
  expect_rejected<M>("examples must be in", [](M& m) { m.examples = 0; });
  expect_rejected<M>("inputs must be 1 to 64", [](M& m) { m.inputs.clear(); });
  expect_rejected<M>("inputs must be 1 to 64", [](M& m) { m.inputs.resize(65); });
  expect_rejected<M>("column name must have 0 to 256", [](M& m) { m.inputs[1].name.assign(257, 'n'); });
  expect_rejected<M>("column type must be", [](M& m) { m.inputs[1].type = ColumnType{4}; });
  expect_rejected<M>("column type must be", [](M& m) { m.target.type = ColumnType{0}; });
  expect_rejected<M>("column shape must have 0 to 8", [](M& m) { m.inputs[0].shape.assign(9, 1); });
  expect_rejected<M>("must be finite", [](M& m) { m.inputs[0].scale = std::numeric_limits<float>::quiet_NaN(); });
  expect_rejected<M>("must be finite", [](M& m) { m.inputs[0].offset = -kInfinity; });
  expect_rejected<M>("must be 1 and 0 unless", [](M& m) { m.inputs[1].scale = 2; });
  expect_rejected<M>("must be 1 and 0 unless", [](M& m) { m.inputs[1].offset = 1; });
  expect_rejected<M>("target must be int32 or float32", [](M& m) { m.target.type = ColumnType::uint8; });
  expect_rejected<M>("classes must be 0", [](M& m) { m.target.type = ColumnType::float32; });
  M none = test::MessageTraits<M>::samples().minimal;
  none.classes = 0;
  EXPECT_ERROR(decode_dataset(test::frame_of(none, Bytes(8))), ErrorCode::malformed, "classes must be at least 1");
}

TEST(DatasetCodec, TakesExactlyThePromisedPayload) {
  M header = test::MessageTraits<M>::samples().typical;
  header.examples = 2;
  const size_t expected = 2 * (4 * 4 + 2 * 4 + 4);
  EXPECT_OK(decode_dataset(frame_with_payload(header, expected)));
  for (const size_t size : {size_t{0}, expected - 4, expected - 1, expected + 1, expected + 16}) {
    EXPECT_ERROR(decode_dataset(frame_with_payload(header, size)), ErrorCode::malformed, "expected 56");
  }
}

TEST(DatasetCodec, TakesAnyNumbersForTheTargetOfARegression) {
  expect_accepted<M>([](M& m) {
    m.target = {.name = "prices", .type = ColumnType::float32, .shape = {3}};
    m.classes = 0;
  });
}

TEST(DatasetCodec, TakesTheUnitOfATargetThatIsANumber) {
  const auto with = [](float scale, float offset, ColumnType type = ColumnType::float32) {
    return [=](M& m) {
      m.target = {.name = "price", .type = type, .shape = {}, .scale = scale, .offset = offset};
      if (type == ColumnType::float32) m.classes = 0;
    };
  };
  expect_accepted<M>(with(1250.5f, -3e5f));
  expect_rejected<M>("target scale must be above 0", with(0, 1));
  expect_rejected<M>("target scale must be above 0", with(-2, 1));
  expect_rejected<M>("must be finite", with(std::numeric_limits<float>::infinity(), 0));
  expect_rejected<M>("must be 1 and 0 unless", with(2, 0, ColumnType::int32));
}

TEST(DatasetCodec, NamesTheExampleWhoseLabelIsNoClass) {
  const M header = test::MessageTraits<M>::samples().typical;
  const auto with_label = [&](size_t example, int32_t label) {
    Bytes payload = test::payload_of(header);
    std::memcpy(payload.data() + payload.size() - (header.examples - example) * 4, &label, sizeof label);
    return test::frame_of(header, payload);
  };
  for (const size_t example : {size_t{0}, size_t{4}, size_t{9}}) {
    const std::string name = "label " + std::to_string(example) + " is outside";
    EXPECT_ERROR(decode_dataset(with_label(example, -1)), ErrorCode::malformed, name);
    EXPECT_ERROR(decode_dataset(with_label(example, 10)), ErrorCode::malformed, name);
    EXPECT_ERROR(decode_dataset(with_label(example, std::numeric_limits<int32_t>::min())), ErrorCode::malformed, name);
    EXPECT_OK(decode_dataset(with_label(example, 0)));
    EXPECT_OK(decode_dataset(with_label(example, 9)));
  }
}

TEST(DatasetCodec, HasNoLabelBeyondInt32HoweverManyClassesItClaims) {
  M header = test::MessageTraits<M>::samples().minimal;
  header.classes = 0xffffffff;
  for (const uint32_t label : {0x80000000u, 0xfffffffeu}) {
    Bytes payload(8);
    std::memcpy(payload.data() + 4, &label, sizeof label);
    EXPECT_ERROR(decode_dataset(test::frame_of(header, payload)), ErrorCode::malformed, "label 0");
  }
  expect_accepted<M>([](M& m) { m.classes = 0xffffffff; });
}

}  // namespace
}  // namespace coterie
