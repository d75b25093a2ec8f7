// Query parameters by their types: times, cursors, choices; and what is not known.
#include "fl_server/admin_api/query_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "scheduler/job/records.h"

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Query = std::map<std::string, std::string>;
constexpr std::array kStates = {JobState::running, JobState::paused};

TEST(QueryReader, ReadsEachByItsType) {
  const Query query = {
      {"state", "paused"}, {"label", "x"}, {"old", "false"}, {"limit", "7"}, {"since", "1970-01-01T00:00:01Z"}};
  Problems problems;
  QueryReader reader(query, problems);
  EXPECT_EQ(reader.choice<JobState>("state", kStates), JobState::paused);
  EXPECT_EQ(reader.text("label", 1), "x");
  EXPECT_EQ(reader.flag("old"), false);
  EXPECT_EQ(reader.limit(), 7u);
  EXPECT_EQ(reader.time("since"), wall_time_from_unix_ms(1'000));
  EXPECT_EQ(reader.number("absent", 5, 0, 9), 5u);
  EXPECT_EQ(reader.text("none", 9), std::nullopt);
  EXPECT_EQ(reader.cursor("after"), std::nullopt);
  reader.finish();
  EXPECT_THAT(problems, IsEmpty());
}

TEST(QueryReader, NamesEverythingThatIsWrong) {
  const Query query = {{"state", "Paused"}, {"label", ""},  {"old", "1"},      {"limit", "0"},
                       {"since", "now"},    {"after", "x"}, {"stat", "paused"}};
  Problems problems;
  QueryReader reader(query, problems);
  EXPECT_EQ(reader.choice<JobState>("state", kStates), std::nullopt);
  EXPECT_EQ(reader.text("label", 9), std::nullopt);
  EXPECT_EQ(reader.flag("old"), std::nullopt);
  EXPECT_EQ(reader.limit(), kPageDefault);
  EXPECT_EQ(reader.time("since"), std::nullopt);
  EXPECT_EQ(reader.cursor("after"), std::nullopt);
  reader.finish();
  EXPECT_THAT(
      problems,
      ElementsAre(Problem{"?state", "must be one of running, paused"}, Problem{"?label", "must have 1 to 9 characters"},
                  Problem{"?old", "must be true or false"}, Problem{"?limit", "must be an integer in [1, 1000]"},
                  Problem{"?since", "must be a time in UTC as 2026-11-21T06:30:00Z"},
                  Problem{"?after", "must be a next_after of an earlier page"},
                  Problem{"?stat", "is not known here; there are state, label, old, limit, since, after"}));
}

TEST(CreationCursor, IsReadFromItsText) {
  const CreationCursor cursor{wall_time_from_unix_ms(1'750'000'000'000), "j7-k"};
  EXPECT_EQ(cursor.text(), "1750000000000-j7-k");
  EXPECT_EQ(CreationCursor::parse(cursor.text()), cursor);
  for (const std::string& text :
       {std::string(), std::string("-x"), std::string("1"), std::string("--1-x"), std::string("+1-x"),
        std::string("9223372036854775808-x"), "1-" + std::string(129, 'x')}) {
    EXPECT_EQ(CreationCursor::parse(text), std::nullopt) << text;
  }
}

TEST(PageOf, GoesOnWhereThePageBeforeEndedThoughItsLastIsGone) {
  std::vector<CreationCursor> records;
  for (const char* id : {"a", "b", "c", "d", "e"}) records.push_back({wall_time_from_unix_ms(id[0] < 'c' ? 1 : 2), id});
  const auto self = [](const CreationCursor& record) { return record; };
  const auto read = [&](const std::optional<CreationCursor>& after, uint64_t limit,
                        std::optional<CreationCursor>& next) {
    std::string text;
    for (const CreationCursor* record : page_of(records, after, limit, self, next)) text += record->id;
    return text;
  };
  std::optional<CreationCursor> next;
  EXPECT_EQ(read({}, 2, next), "ab");
  ASSERT_EQ(next, records[1]);
  records.erase(records.begin() + 1);
  std::optional<CreationCursor> behind;
  EXPECT_EQ(read(next, 3, behind), "cde");
  EXPECT_EQ(behind, std::nullopt) << "a page that is full and the last";
  std::optional<CreationCursor> none;
  EXPECT_EQ(read(records.back(), 3, none), "");
}

}  // namespace
}  // namespace coterie
