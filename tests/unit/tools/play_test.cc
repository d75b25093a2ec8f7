#include "tools/data/play.h"

#include <gmock/gmock.h>

#include "tests/support/matchers.h"

namespace coterie {
namespace {

using testing::ElementsAre;

std::vector<std::string> told(std::string_view play) {
  const auto parts = parts_of(play);
  EXPECT_OK(parts);
  std::vector<std::string> lines;
  for (const SpokenPart& part : *parts) lines.push_back(part.speaker + ">" + part.text);
  return lines;
}

TEST(Play, IsWhatEachSpeakerSays) {
  EXPECT_THAT(told("A:\none\ntwo\n\nB C:\nthree\n\nA:\nfour"), ElementsAre("A>one\ntwo\nfour\n", "B C>three\n"));
  EXPECT_THAT(told("A:\r\none\r\n\r\nB:\r\n"), ElementsAre("A>one\n", "B>"));
}

TEST(Play, HasColonsThatNameNobody) {
  EXPECT_THAT(told("A:\nhear this:\nx\n\n:\ny\n"), ElementsAre("A>hear this:\nx\n:\ny\n"));
  EXPECT_THAT(told(""), ElementsAre());
  EXPECT_ERROR(parts_of("\nprologue\n\nA:\nx\n"), ErrorCode::malformed, "line 2: expected who speaks");
}

}  // namespace
}  // namespace coterie
