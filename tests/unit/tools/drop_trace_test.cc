#include "tools/simulate/drop_trace.h"

#include <gtest/gtest.h>

namespace coterie {
namespace {

TEST(DropTrace, SaysWhoIsLostWhen) {
  const Result<DropTrace> trace = DropTrace::parse("device,round\n3,1\n1,2\r\n", 3);
  ASSERT_TRUE(trace) << trace.error().message();
  EXPECT_EQ(trace->size(), 2u);
  EXPECT_TRUE(trace->drops(2, 1));
  EXPECT_TRUE(trace->drops(0, 2));
  EXPECT_FALSE(trace->drops(2, 2));
  EXPECT_FALSE(trace->drops(0, 1));
}

TEST(DropTrace, HasNoHoles) {
  for (const char* text : {"1,1\n\n2,1\n", "1\n", "1,\n", ",1\n", "1,1,1\n", "a,1\n", "-1,1\n", "1,1\n1,1\n"}) {
    const Result<DropTrace> trace = DropTrace::parse(text, 3);
    ASSERT_FALSE(trace) << text;
    EXPECT_EQ(trace.error().code(), ErrorCode::malformed) << text;
  }
}

TEST(DropTrace, NamesTheLineAndTheDeviceThatIsNone) {
  const Result<DropTrace> trace = DropTrace::parse("1,1\n4,1\n", 3);
  ASSERT_FALSE(trace);
  EXPECT_EQ(trace.error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(trace.error().message(), "line 2: device 4 is not one of 1 to 3");
  EXPECT_EQ(DropTrace::parse("0,1\n", 3).error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(DropTrace::parse("1,0\n", 3).error().code(), ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace coterie
