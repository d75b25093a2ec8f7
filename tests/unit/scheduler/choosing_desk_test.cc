#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "scheduler/selection/selection_settings.h"
#include "tests/unit/scheduler/desk_script.h"

namespace coterie {
namespace {

using namespace desk_script;

RoundNotice choosing(uint32_t tickets, uint64_t round = 1) {
  RoundNotice of = notice(RoundState::collecting, tickets, kPhones, round);
  of.selection = SelectionSettings::of("power_of_choice").with("candidates_ratio", 20);
  return of;
}

TEST(ChoosingDesk, TakesWhoIsUnknownThenTheHighestLosses) {
  Desk desk;
  desk.publish(choosing(6));
  for (uint64_t i = 1; i <= 6; ++i) {
    desk.check_in(i, i);
    desk.accepted(i, 1, {.loss_level = static_cast<uint8_t>(i)});
    desk.accepted(i);  // said again, of a device that is counted: it changes nothing
  }
  desk.withdraw();
  for (uint64_t i = 1; i <= 8; ++i) desk.check_in(10 + i, i);
  EXPECT_EQ(tickets_in(desk.publish(choosing(4, 2))), (std::set<std::string>{"15", "16", "17", "18"}))
      << "two are unknown, two had the highest losses";
}

// Device 1 takes its ticket and is never heard of again.
TEST(ChoosingDesk, AsksWhoNeverAnswersOnceAsTheOthers) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    Desk desk(seed);
    std::map<std::string, int> tickets;
    for (uint64_t round = 1; round <= 12; ++round) {
      for (uint64_t who = 1; who <= 4; ++who) desk.check_in(10 * round + who, who);
      for (const std::string& ticket : tickets_in(desk.publish(choosing(1, round)))) {
        const uint64_t who = std::stoull(ticket) % 10;
        ++tickets["device " + std::to_string(who)];
        if (who != 1) desk.accepted(who, round);
      }
      if (round == 4) {
        EXPECT_EQ(tickets.size(), 4u) << "each is asked once before one is preferred";
      }
      desk.withdraw(round);
    }
    EXPECT_EQ(tickets["device 1"], 1);
  }
}

TEST(ChoosingDesk, ForgetsAJobThatHadNoRoundForADay) {
  const auto asked_again_after = [](Millis pause, uint64_t seed = 1) {
    Desk desk(seed);
    desk.check_in(1, 1);
    desk.publish(choosing(1));
    desk.withdraw();
    desk.at(60'000);
    desk.check_in(2, 3, kPhones, Millis(0));  // sees that there is no round
    desk.at(60'000 + pause.count());
    desk.check_in(3, 1);
    desk.check_in(4, 2);
    return tickets_in(desk.publish(choosing(1, 2)));
  };
  EXPECT_EQ(asked_again_after(Millis(3'600'000)), (std::set<std::string>{"4"})) << "device 1 was asked already";
  int drawn_anew = 0;  // device 1 is as likely as device 2
  for (uint64_t seed = 1; seed <= 20; ++seed)
    drawn_anew += asked_again_after(TrainedReports::kIdleMax, seed).contains("3");
  EXPECT_GT(drawn_anew, 0);
  TrainedReports reports;
  const auto ended = [](const JobId&) { return false; };
  const auto lives = [](const JobId&) { return true; };
  reports.asked(JobId("j"), device(1), 1);
  reports.time_passed(Instant(Millis(1)), ended);
  reports.time_passed(Instant(TrainedReports::kIdleMax), lives);
  reports.time_passed(Instant(TrainedReports::kIdleMax + Millis(5)), ended);
  EXPECT_NE(reports.find(JobId("j"), device(1)), nullptr) << "it had a round meanwhile";
  reports.time_passed(Instant(2 * TrainedReports::kIdleMax + Millis(4)), ended);
  EXPECT_NE(reports.find(JobId("j"), device(1)), nullptr);
  reports.time_passed(Instant(2 * TrainedReports::kIdleMax + Millis(5)), ended);
  EXPECT_EQ(reports.find(JobId("j"), device(1)), nullptr);
}

TEST(ChoosingDesk, DoesNotCountATicketThatCameBack) {
  Desk desk;
  desk.check_in(1, 1);
  desk.publish(choosing(1));
  desk.undelivered(1);
  desk.check_in(2, 2);
  desk.accepted(2, 1, {.loss_level = 15});
  desk.withdraw();
  desk.check_in(3, 1);
  desk.check_in(4, 2);
  EXPECT_EQ(tickets_in(desk.publish(choosing(1, 2))), (std::set<std::string>{"3"})) << "it was not asked yet";
}

TEST(ChoosingDesk, RemembersWhoWasCountedWhereUpdatesAreHidden) {
  int drawn_again = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Desk desk(seed);
    for (uint64_t round = 1; round <= 8; ++round) {  // device 1 is counted in each
      RoundNotice of = notice(RoundState::collecting, 1, kPhones, round);
      of.selection = SelectionSettings::of("balanced");
      desk.publish(of);
      desk.check_in(round, 1);
      desk.accepted(1, round);
      desk.accepted(1, round);
    }
    RoundNotice last = notice(RoundState::collecting, 1, kPhones, 9);
    last.selection = SelectionSettings::of("balanced");
    desk.withdraw(8);
    desk.check_in(20, 1);
    desk.check_in(21, 2);
    drawn_again += tickets_in(desk.publish(last)).contains("20");
  }
  EXPECT_GT(drawn_again, 0);
  EXPECT_LT(drawn_again, 15) << "one in ten is expected of them";
}

TEST(ChoosingDesk, RemembersNothingForARuleThatReadsNothing) {
  Desk desk;
  desk.publish(notice(RoundState::collecting, 1));
  desk.check_in(1, 1);
  desk.accepted(1, 1, {.loss_level = 15});
  desk.withdraw();
  desk.check_in(2, 1);
  desk.check_in(3, 2);
  desk.accepted(2, 9, {.loss_level = 15});  // of no round here
  std::map<std::string, int> drawn;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Desk other(seed);
    other.check_in(2, 1);
    other.check_in(3, 2);
    for (const std::string& ticket : tickets_in(other.publish(choosing(1, 2)))) ++drawn[ticket];
  }
  EXPECT_GT(drawn["2"], 5);
  EXPECT_GT(drawn["3"], 5);
}

TEST(ChoosingDesk, DrawsTheSameInWhateverOrderDevicesCame) {
  std::set<std::set<DeviceId>> cohorts;
  for (const uint64_t step : {1u, 3u, 7u}) {
    Desk desk(5, {}, true);
    RoundNotice round = choosing(4);
    round.selection = SelectionSettings::of("utility");
    for (uint64_t i = 0; i < 10; ++i) desk.check_in(i * step % 10 + 1, i * step % 10 + 1);
    std::set<DeviceId> cohort;
    for (const std::string& ticket : tickets_in(desk.publish(round))) cohort.insert(device(std::stoull(ticket)));
    EXPECT_EQ(cohort.size(), 4u);
    cohorts.insert(cohort);
  }
  EXPECT_EQ(cohorts.size(), 1u);
}

uint64_t count_of(Desk& desk, DeviceGate outcome) { return desk.desk().counts()[static_cast<size_t>(outcome)]; }

TEST(CheckinCounts, SayWhatCameOfEachThatAsked) {
  Desk desk(1, {.waiters_max = 4});
  desk.check_in(1, 1, kPhones, Millis(0));  // no_round
  for (uint64_t i = 2; i <= 5; ++i) desk.check_in(i, i);
  desk.check_in(6, 6);  // desk_full
  desk.check_in(7, 5);  // waiter 5 is replaced: the desk is not full then
  desk.cancel(7);       // gone
  desk.publish(notice(RoundState::collecting, 1));
  EXPECT_EQ(count_of(desk, DeviceGate::ticket), 1u);
  desk.at(10'000);  // two were not drawn
  EXPECT_EQ(count_of(desk, DeviceGate::not_drawn), 2u);
  desk.check_in(8, 8, kPhones, Millis(0));  // no_place
  desk.publish(notice(RoundState::collecting, 5, kPhones, 2), {device(9)}, {device(10)});
  desk.check_in(9, 9, kPhones, Millis(0));    // counted
  desk.check_in(10, 10, kPhones, Millis(0));  // resting
  desk.check_in(11, 11);
  desk.check_in(12, 11);  // ticket_again
  desk.withdraw(2);
  desk.check_in(13, 13);
  desk.desk().dismiss_all(Instant(Millis(20'000)));  // stopping
  const CheckinCounts& counts = desk.desk().counts();
  for (const DeviceGate once :
       {DeviceGate::ticket_again, DeviceGate::no_place, DeviceGate::resting, DeviceGate::counted, DeviceGate::no_round,
        DeviceGate::desk_full, DeviceGate::replaced, DeviceGate::gone, DeviceGate::stopping}) {
    EXPECT_EQ(count_of(desk, once), 1u) << to_string(once);
  }
  uint64_t all = 0;
  for (const uint64_t count : counts) all += count;
  EXPECT_EQ(all, 13u);
  desk.desk().check();
}

}  // namespace
}  // namespace coterie
