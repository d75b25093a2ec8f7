// Server-sent events as the HTML standard has them, in pieces of every size, and what is too much.
#include "tools/admin/event_parser.h"

#include <gmock/gmock.h>

#include "tests/support/matchers.h"

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// "id|kind|data" of each event.
std::vector<std::string> told(const std::vector<SentEvent>& events) {
  std::vector<std::string> lines;
  for (const SentEvent& event : events) lines.push_back(event.id + "|" + event.kind + "|" + event.data);
  return lines;
}

std::vector<std::string> parse(std::string_view text, size_t piece_size, EventParser& parser) {
  std::vector<std::string> all;
  for (size_t at = 0; at < text.size(); at += piece_size) {
    const auto events = parser.take(as_bytes(text.substr(at, piece_size)));
    EXPECT_OK(events);
    if (!events) break;
    for (std::string& line : told(*events)) all.push_back(std::move(line));
  }
  return all;
}

std::vector<std::string> parse(std::string_view text) {
  EventParser parser("");
  return parse(text, text.size(), parser);
}

TEST(EventParser, ReadsTheSameFromPiecesOfEverySize) {
  constexpr std::string_view kText =
      "\xef\xbb\xbf: hello\n\nid: e-1\nevent: round\ndata: {\"a\":1}\n\n"
      "id: e-2\r\nevent: over\r\ndata: one\r\ndata:  two\r\n\r\n: beat\rdata\rretry: 5\rid:e-3\r\rid: e-4\n\ndata: cut";
  for (size_t size = 1; size <= kText.size(); ++size) {
    EventParser parser("e-0");
    EXPECT_THAT(parse(kText, size, parser), ElementsAre("e-1|round|{\"a\":1}", "e-2|over|one\n two", "e-3|message|"))
        << size;
    EXPECT_EQ(parser.last_id(), "e-4") << "without an event, too";
  }
}

TEST(EventParser, GoesOnFromTheIdOfAnEarlierStream) {
  EventParser parser("e-7");
  EXPECT_THAT(parse("data: x\n\n", 9, parser), ElementsAre("e-7|message|x"));
  EXPECT_EQ(parser.last_id(), "e-7");
  EXPECT_THAT(parse("id: e-8\nevent: round\n", 3, parser), IsEmpty());
  EXPECT_EQ(parser.last_id(), "e-7") << "the event has not come whole";
  EXPECT_THAT(parse("id\ndata: y\n\n", 3, parser), ElementsAre("|round|y")) << "an empty id takes it back";
}

TEST(EventParser, TellsNothingOfAnEventWithoutData) {
  EXPECT_THAT(parse("event: round\n\ndata: x\n\n"), ElementsAre("|message|x"));
  EXPECT_THAT(parse("\n\n\r\r\n\n: only a comment\n\n"), IsEmpty());
}

TEST(EventParser, KeepsNoMoreOfALineOrOfAnEventThanItsLimit) {
  const std::string longest = "data: " + std::string(kEventLineBytesMax - 6, 'x') + "\n";
  EventParser parser("");
  EXPECT_OK(parser.take(as_bytes(longest)));
  EXPECT_ERROR(EventParser("").take(as_bytes("x" + longest)), ErrorCode::too_large, "a line that is too long");
  std::string event;
  for (size_t lines = 0; lines <= kEventDataBytesMax / kEventLineBytesMax; ++lines) event += longest;
  EXPECT_ERROR(EventParser("").take(as_bytes(event)), ErrorCode::too_large, "an event that is too long");
  EventParser slowly("");
  const std::string piece(kEventLineBytesMax, 'y');
  EXPECT_OK(slowly.take(as_bytes(piece)));
  EXPECT_ERROR(slowly.take(as_bytes("y")), ErrorCode::too_large, "a line") << "over several pieces";
}

TEST(EventParser, TakesNoIdThatIsNoHeader) {
  EXPECT_ERROR(EventParser("").take(as_bytes("id: " + std::string(kEventIdBytesMax + 1, 'x') + "\n")),
               ErrorCode::too_large, "an id");
  for (const std::string& id :
       {std::string("a\tb"), std::string("\x7f"), std::string("\0", 1), std::string("\xc3\xa4")}) {
    EXPECT_ERROR(EventParser("").take(as_bytes("id: " + id + "\n")), ErrorCode::malformed, "printable ASCII");
  }
}

}  // namespace
}  // namespace coterie
