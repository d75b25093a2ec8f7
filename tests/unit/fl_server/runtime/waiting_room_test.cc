// Who waits, and what he is answered: whom the desk draws is checkin_desk_test's.
#include "fl_server/runtime/waiting_room.h"

#include <gmock/gmock.h>

#include "fl_server/telemetry/collected_metrics.h"
#include "fl_server/telemetry/refusals.h"
#include "secure/identity/ticket.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const RoundKey kRound{RoundId(7), Attempt(1)};
const Population kPhones("phones");

DeviceId device(uint8_t index) {
  DeviceId id;
  id.bytes[0] = index;
  return id;
}

RoundNotice collecting(uint32_t tickets) {
  RoundNotice notice;
  notice.job = notice.assignment.job = JobId("j");
  notice.population = kPhones;
  notice.key = notice.assignment.round = kRound;
  notice.state = RoundState::collecting;
  notice.ticket_count = tickets;
  notice.assignment.not_after = WallTime::max();
  return notice;
}

using CheckinAnswer = std::variant<Assignment, RetryWindow>;

class HeardEvents final : public NodeEvents {
 public:
  void pool_changed(const Population& population, uint64_t waiting) override {
    lines.push_back("pool " + population.value() + " " + std::to_string(waiting));
  }
  void tickets_issued(const RoundKey&, uint32_t total) override { lines.push_back("issued " + std::to_string(total)); }
  void tickets_lacking(const RoundKey&, uint64_t devices) override {
    lines.push_back("lacking " + std::to_string(devices));
  }
  void updates_accepted(const RoundKey&, uint64_t) override {}
  void update_accepted(const RoundKey&, const DeviceId&) override {}
  std::vector<std::string> take() { return std::exchange(lines, {}); }
  std::vector<std::string> lines;
};

class Waiting : public testing::Test {
 protected:
  Waiting() { room_.start(events_); }
  void check_in(uint64_t waiter, uint8_t who) {
    room_.check_in(WaiterId(waiter), device(who), kPhones, Millis(60'000), kKnownFeatures, {},
                   [this, waiter](CheckinAnswer answer) { answers_.emplace(waiter, std::move(answer)); });
  }
  bool has_ticket(uint64_t waiter) const {
    const auto answer = answers_.find(waiter);
    return answer != answers_.end() && std::holds_alternative<Assignment>(answer->second);
  }
  bool is_sent_away(uint64_t waiter) const {
    const auto answer = answers_.find(waiter);
    return answer != answers_.end() && std::holds_alternative<RetryWindow>(answer->second);
  }

  MacKey key_;
  Metrics metrics_{"test"};
  HeardEvents events_;
  WaitingRoom room_{{}, key_, metrics_};
  std::multimap<uint64_t, CheckinAnswer> answers_;
};

TEST_F(Waiting, WhoWaitsGetsATicketOfTheRoundThatCollects) {
  check_in(1, 1);
  EXPECT_THAT(answers_, IsEmpty());
  EXPECT_THAT(events_.take(), ElementsAre("pool phones 1"));
  room_.publish(collecting(1), {});
  ASSERT_TRUE(has_ticket(1));
  const auto& assignment = std::get<Assignment>(answers_.find(1)->second);
  const Result<TicketClaims> claims = open_ticket(assignment.ticket, key_, device(1));
  ASSERT_OK(claims);
  EXPECT_EQ(claims->round, kRound);
  EXPECT_THAT(metrics_.exposition(), HasSubstr("coterie_"));
  EXPECT_THAT(events_.take(), testing::UnorderedElementsAre("issued 1", "pool phones 0"));
}

TEST_F(Waiting, ATicketOfAConnectionThatIsGoneIsFreeAgain) {
  room_.publish(collecting(1), {});
  check_in(1, 1);
  ASSERT_TRUE(has_ticket(1));
  check_in(2, 2);
  EXPECT_FALSE(has_ticket(2));
  room_.undelivered(kRound, device(1));
  EXPECT_TRUE(has_ticket(2));
}

TEST_F(Waiting, WhoCancelsHearsNothing) {
  check_in(1, 1);
  room_.cancel(WaiterId(1));
  room_.publish(collecting(5), {});
  room_.dismiss();
  EXPECT_THAT(answers_, IsEmpty());
}

TEST_F(Waiting, ARoundThatIsOverGivesNoTickets) {
  room_.publish(collecting(5), {});
  room_.withdraw(kRound);
  check_in(1, 1);
  EXPECT_FALSE(has_ticket(1));
}

TEST_F(Waiting, WhoIsCountedIsNotAskedAgain) {
  room_.publish(collecting(5), {.accepted = {device(1)}});
  check_in(1, 1);
  EXPECT_FALSE(has_ticket(1));
  check_in(2, 2);
  ASSERT_TRUE(has_ticket(2));
  room_.accepted({kRound, device(2), {.updates = 1, .weight = 1}});
  check_in(3, 2);
  EXPECT_FALSE(has_ticket(3));
}

TEST_F(Waiting, OnceItIsDismissedNobodyIsHeld) {
  check_in(1, 1);
  room_.dismiss();
  EXPECT_TRUE(is_sent_away(1));
  check_in(2, 2);
  room_.time_passed();
  EXPECT_TRUE(is_sent_away(2));
  EXPECT_EQ(answers_.size(), 2u);
  EXPECT_GT(room_.devices_steered(), 0u);
}

TEST_F(Waiting, SaysHowManyLackATicket) {
  room_.publish(collecting(1), {});
  for (uint8_t who = 1; who <= 3; ++who) check_in(who, who);
  events_.take();
  room_.count_lacking();
  EXPECT_THAT(events_.take(), ElementsAre("lacking 2"));
}

TEST_F(Waiting, RefusalsAreCountedByTheirReason) {
  room_.note_refusal(device(1), {.round = kRound, .reason = "no such reason"});
  room_.note_refusal(device(1), {.round = {}, .reason = "no such reason"});
  const Refusals refusals = refusals_of(metrics_.collect());
  EXPECT_EQ(refusals.plans.size(), 1u);
  EXPECT_EQ(refusals.held.size(), 1u);
}

}  // namespace
}  // namespace coterie
