#include "fl_server/records/norm_record.h"

#include <gtest/gtest.h>

#include "tests/support/matchers.h"

namespace coterie {
namespace {

NormHistogram of(std::initializer_list<std::pair<size_t, uint64_t>> counts) {
  NormHistogram norms;
  for (const auto& [bucket, count] : counts) norms.counts[bucket] = count;
  return norms;
}

TEST(NormRecord, IsReadAsItWasWritten) {
  for (const NormHistogram& norms : {of({{0, 1}}), of({{63, 7}}), of({{0, 1}, {63, 2}}), of({{30, 5}, {32, 1'000}})}) {
    EXPECT_EQ(*decode_norms(encode_norms(norms)), norms);
  }
  EXPECT_EQ(encode_norms(of({{30, 5}, {32, 1}})).size(), 1 + 3 * sizeof(uint64_t)) << "no empty bucket at either end";
}

TEST(NormRecord, IsNothingElse) {
  const Bytes good = encode_norms(of({{62, 1}, {63, 2}}));
  for (size_t size = 0; size < good.size(); ++size) {
    if (size == 1 + sizeof(uint64_t)) continue;  // one bucket: a histogram of its own
    EXPECT_ERROR(decode_norms(ByteView(good).first(size)), ErrorCode::data_loss, "no known form");
  }
  Bytes beyond = good;
  beyond[0] = 63;
  EXPECT_ERROR(decode_norms(beyond), ErrorCode::data_loss, "no known form");
  EXPECT_ERROR(decode_norms(Bytes(1 + sizeof(uint64_t))), ErrorCode::data_loss, "no known form") << "of no update";
  EXPECT_ERROR(decode_norms(Bytes(1 + sizeof(uint64_t), 0xff)), ErrorCode::data_loss, "no known form");
}

}  // namespace
}  // namespace coterie
