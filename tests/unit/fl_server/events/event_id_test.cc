#include "fl_server/events/event_id.h"

#include "tests/support/matchers.h"

namespace coterie {
namespace {

TEST(EventId, IsReadAsItIsWritten) {
  for (const uint64_t seq : {uint64_t{0}, uint64_t{42}, UINT64_MAX}) {
    const EventId id{.epoch = "9f3c00d15ab2e471", .seq = seq};
    const Result<EventId> read = EventId::parse(id.text());
    ASSERT_OK(read);
    EXPECT_EQ(*read, id);
  }
  EXPECT_EQ((EventId{.epoch = "9f3c00d15ab2e471", .seq = 42}.text()), "9f3c00d15ab2e471-42");
}

TEST(EventId, IsNothingElse) {
  for (const char* text :
       {"", "42", "9f3c00d15ab2e471", "9f3c00d15ab2e471-", "9f3c00d15ab2e471-x", "9f3c00d15ab2e471--1",
        "9f3c00d15ab2e471-4 ", "9F3C00D15AB2E471-42", "9f3c00d15ab2e47-42", "9f3c00d15ab2e4711-42",
        "9f3c00d15ab2e471-18446744073709551616", "9f3c00d15ab2e471-000000000000000000042"}) {
    EXPECT_ERROR(EventId::parse(text), ErrorCode::malformed, "16 hexadecimal digits") << text;
  }
}

}  // namespace
}  // namespace coterie
