#include "tools/serve/worker_link.h"

#include <gtest/gtest.h>

#include "tests/support/matchers.h"

namespace coterie {
namespace {

using Kind = LinkMessage::Kind;

// A process that dies with words of its master unread resets the connection, and what it has said is still said.
TEST(WorkerLink, HasTheLastWordsOfAnEndThatIsGone) {
  auto ends = WorkerLink::make();
  ASSERT_OK(ends);
  {
    const WorkerLink gone = std::move(ends->second);
    ASSERT_OK(ends->first.send({.kind = Kind::promoted, .promoted = 7}));
    ASSERT_OK(gone.send({.kind = Kind::refused, .number = 7, .text = "no model"}));
  }
  const auto said = ends->first.receive();
  ASSERT_OK(said);
  ASSERT_TRUE(*said);
  EXPECT_EQ((*said)->kind, Kind::refused);
  EXPECT_EQ((*said)->number, 7u);
  EXPECT_EQ((*said)->text, "no model");
  EXPECT_ERROR(ends->first.receive(), ErrorCode::unavailable, "the other process has ended");
}

}  // namespace
}  // namespace coterie
