// The ring of events: numbers without a gap, two bounds, and readers that are told when they have missed something.
#include "fl_server/events/event_log.h"

#include <gtest/gtest.h>

#include "fl_server/events/event_json.h"

namespace coterie {
namespace {

const JobId kJob("j1"), kOther("j2");
constexpr size_t kAll = 1'000'000;

event::What accepted(uint64_t total) { return event::UpdatesAccepted{.round = {}, .total = total}; }
event::What failed(size_t bytes) { return event::JobFailed{std::string(bytes, 'x')}; }

EventLog log_of(size_t events, EventLimits limits = {}) {
  EventLog log(limits);
  for (size_t i = 0; i < events; ++i) log.add({}, kJob, accepted(i));
  return log;
}

std::vector<uint64_t> numbers(const EventPage& page) {
  std::vector<uint64_t> all;
  for (const auto& event : page.events) all.push_back(event->seq);
  return all;
}

using Numbers = std::vector<uint64_t>;

TEST(EventLog, NumbersEventsFromOneAndGivesWhatCameAfter) {
  const EventLog log = log_of(3);
  EXPECT_EQ(log.newest(), 3u);
  EXPECT_EQ(numbers(log.after(0, kJob, kAll)), (Numbers{1, 2, 3}));
  EXPECT_EQ(numbers(log.after(2, kJob, kAll)), (Numbers{3}));
  EXPECT_EQ(numbers(log.after(3, kJob, kAll)), (Numbers{}));
  EXPECT_FALSE(log.after(3, kJob, kAll).missed);
}

TEST(EventLog, GivesAJobItsOwnAndPassesOverTheOthers) {
  EventLog log;
  log.add({}, kOther, accepted(1));
  log.add({}, kJob, accepted(2));
  log.add({}, kOther, accepted(3));
  const EventPage page = log.after(0, kJob, kAll);
  EXPECT_EQ(numbers(page), (Numbers{2}));
  EXPECT_EQ(page.seq, 3u) << "also the other's event is read";
}

TEST(EventLog, GivesPagesThatJoinWithoutAGap) {
  const EventLog log = log_of(5);
  const EventPage first = log.after(0, kJob, 2);
  EXPECT_EQ(numbers(first), (Numbers{1, 2}));
  EXPECT_EQ(first.seq, 2u) << "not beyond what was given";
  EXPECT_EQ(numbers(log.after(first.seq, kJob, 2)), (Numbers{3, 4}));
}

TEST(EventLog, MakesWhatReadersAreToldOnceForAllOfThem) {
  const EventLog log = log_of(1);
  const auto one = log.after(0, kJob, kAll).events.front();
  const auto another = log.after(0, OfTenant{"*"}, kAll).events.front();
  EXPECT_EQ(one->json, event_json(*one));
  EXPECT_EQ(one->json.data(), another->json.data()) << "not copied, nor made again";
}

TEST(EventLog, ForgetsTheOldestWhenThereAreTooMany) {
  const EventLog log = log_of(7, {.events_max = 3});
  EXPECT_EQ(log.size(), 3u);
  EXPECT_EQ(numbers(log.after(4, kJob, kAll)), (Numbers{5, 6, 7}));
}

TEST(EventLog, SaysWhatAReaderHasMissed) {
  const EventLog log = log_of(7, {.events_max = 3});
  EXPECT_FALSE(log.after(4, kJob, kAll).missed) << "the next is still here";
  const EventPage late = log.after(3, kJob, kAll);
  EXPECT_TRUE(late.missed);
  EXPECT_EQ(numbers(late), (Numbers{}));
  EXPECT_EQ(late.seq, 7u);
}

TEST(EventLog, KnowsANumberThatItNeverGave) {
  EXPECT_TRUE(log_of(3).after(4, kJob, kAll).missed);
  EXPECT_FALSE(log_of(0).after(0, kJob, kAll).missed);
}

TEST(EventLog, ForgetsTheOldestWhenTheyAreTooLarge) {
  EventLog log({.events_max = kAll, .bytes_max = 20'000});
  for (int i = 0; i < 100; ++i) {
    log.add({}, kJob, failed(1'000));
    ASSERT_LE(log.bytes(), 20'000u);
  }
  EXPECT_GT(log.size(), 5u);
  EXPECT_LT(log.size(), 10u);
  EXPECT_EQ(log.newest(), 100u);
}

TEST(EventLog, KeepsTheNewestWhateverItsSizeAndCountsExactly) {
  EventLog log({.events_max = kAll, .bytes_max = 10'000});
  log.add({}, kJob, accepted(1));
  const auto large = log.add({}, kJob, failed(50'000));
  EXPECT_EQ(log.size(), 1u);
  EXPECT_EQ(log.bytes(), EventLog::bytes_of(*large));
  log.add({}, kJob, accepted(2));
  EXPECT_EQ(numbers(log.after(2, kJob, kAll)), (Numbers{3}));
  EXPECT_LT(log.bytes(), 10'000u);
}

}  // namespace
}  // namespace coterie
