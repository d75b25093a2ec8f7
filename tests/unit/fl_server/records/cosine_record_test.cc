#include "fl_server/records/cosine_record.h"

#include <gtest/gtest.h>

#include "tests/support/matchers.h"

namespace coterie {
namespace {

CosineHistogram of(size_t bucket, uint64_t count, uint64_t undirected) {
  CosineHistogram cosines;
  cosines.counts[bucket] = count;
  cosines.undirected = undirected;
  return cosines;
}

TEST(CosineRecord, IsReadAsItWasWritten) {
  for (const CosineHistogram& cosines : {of(0, 1, 0), of(kCosineBuckets - 1, 3, 2), of(20, 0, 5), of(7, 1'000, 1)}) {
    EXPECT_EQ(*decode_cosines(encode_cosines(cosines)), cosines);
  }
}

TEST(CosineRecord, IsNothingElse) {
  const Bytes good = encode_cosines(of(3, 1, 2));
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_ERROR(decode_cosines(ByteView(good).first(size)), ErrorCode::data_loss, "no known form");
  }
  Bytes longer = good;
  longer.resize(good.size() + sizeof(uint64_t));
  EXPECT_ERROR(decode_cosines(longer), ErrorCode::data_loss, "no known form");
  EXPECT_ERROR(decode_cosines(Bytes(good.size())), ErrorCode::data_loss, "no known form") << "of no update";
  for (const size_t place : {size_t{7}, good.size() - 1}) {  // the top byte of a bucket's count, and of the last one
    Bytes many = good;
    many[place] = 1;
    EXPECT_ERROR(decode_cosines(many), ErrorCode::data_loss, "no known form");
  }
}

}  // namespace
}  // namespace coterie
