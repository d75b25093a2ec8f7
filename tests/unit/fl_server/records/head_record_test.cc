#include "fl_server/records/head_record.h"

#include <gtest/gtest.h>

#include <cmath>

#include "proto/messages/training_head.h"
#include "proto/messages/training_rules.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

const std::vector<EvaluatedHead> kTwo = {{.output = "class", .loss = -0.1, .accuracy = 1},
                                         {.output = "age", .loss = 0.30000000000000004, .mae = 2.5}};

TEST(HeadRecord, IsReadAsItWasWritten) {
  EXPECT_EQ(*decode_heads(encode_heads(kTwo)), kTwo);
  const std::vector<EvaluatedHead> at_its_limits(kHeadsMax, {.output = std::string(kPatternBytesMax, 'x')});
  EXPECT_EQ(*decode_heads(encode_heads(at_its_limits)), at_its_limits);
}

TEST(HeadRecord, HasFiniteFiguresAlone) {
  const Bytes bytes = encode_heads({{.output = "a", .loss = INFINITY, .accuracy = NAN, .mae = 0}});
  EXPECT_EQ(*decode_heads(bytes), (std::vector<EvaluatedHead>{{.output = "a", .mae = 0}}));
}

TEST(HeadRecord, IsNothingElse) {
  const Bytes good = encode_heads(kTwo), first = encode_heads({kTwo[0]});
  for (size_t size = 0; size < good.size(); ++size) {
    if (size == first.size()) continue;  // a whole head
    EXPECT_ERROR(decode_heads(ByteView(good).first(size)), ErrorCode::data_loss, "no known form") << size;
  }
  Bytes more = encode_heads(std::vector<EvaluatedHead>(kHeadsMax + 1, kTwo[0]));
  EXPECT_ERROR(decode_heads(more), ErrorCode::data_loss, "no known form");
  Bytes unknown = first;
  unknown[1] |= 8;
  EXPECT_ERROR(decode_heads(unknown), ErrorCode::data_loss, "no known form");
  EXPECT_ERROR(decode_heads(encode_heads({{.output = "a", .accuracy = 1.5}})), ErrorCode::data_loss, "no known form");
  EXPECT_ERROR(decode_heads(encode_heads({{.output = "a", .mae = -1}})), ErrorCode::data_loss, "no known form");
  Bytes infinite = encode_heads({{.output = "a", .loss = 1}});
  infinite[infinite.size() - 2] = 0xf0;  // 1.0 is 0x3ff0...
  infinite[infinite.size() - 1] = 0x7f;
  EXPECT_ERROR(decode_heads(infinite), ErrorCode::data_loss, "no known form");
}

}  // namespace
}  // namespace coterie
