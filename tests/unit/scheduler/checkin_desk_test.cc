#include "scheduler/selection/checkin_desk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/scheduler/desk_script.h"

namespace coterie {
namespace {

using namespace desk_script;

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

// A round of a job whose model has `version`; it counts updates that are two versions late.
RoundNotice buffered(RoundState state, uint32_t tickets, uint64_t version, uint64_t round = 1,
                     const std::string& job = "j") {
  RoundNotice of = notice(state, tickets, kPhones, round, job);
  of.assignment.model_version = ModelVersion(version);
  of.plan.staleness = {.versions_max = 2, .exponent = 0.5f};
  return of;
}

TEST(BufferedDesk, LetsALateUpdateInWithoutATicketOfTheRound) {
  Desk desk;
  desk.publish(buffered(RoundState::collecting, 1, 5));
  EXPECT_THAT(desk.check_in(1, 1), ElementsAre("ticket 1", "tickets 1.1 1"));
  EXPECT_THAT(desk.join(2, 2, 4), ElementsAre("join 2")) << "none are left, and none is needed";
  EXPECT_THAT(desk.join(3, 3, 3), ElementsAre("join 3"));
  EXPECT_THAT(desk.check_in(4, 4), ElementsAre("pool phones 1"));
}

TEST(BufferedDesk, HoldsALateUpdateForTheNextRoundOfItsJob) {
  Desk desk;
  desk.publish(buffered(RoundState::frozen, 0, 5));
  EXPECT_THAT(desk.join(1, 1, 5), ElementsAre("pool phones 1"));
  desk.withdraw();
  desk.publish(notice(RoundState::collecting, 5, kPhones, 7, "other"));
  EXPECT_EQ(desk.desk().waiting(kPhones), 1u) << "it is not asked for other work";
  EXPECT_THAT(desk.desk().lacking(), Contains(testing::Pair(testing::_, 0u)));
  EXPECT_THAT(desk.publish(buffered(RoundState::collecting, 0, 6, 2)), Contains("join 1"));
  EXPECT_EQ(desk.desk().waiting(kPhones), 0u);
}

// With secure aggregation a round may collect while its roster is closed.
TEST(BufferedDesk, DoesNotAskADeviceIntoTheAttemptThatItHasLeft) {
  Desk desk;
  RoundNotice round = buffered(RoundState::collecting, 5, 5);
  desk.publish(round);
  EXPECT_THAT(desk.join(1, 1, 4, "j", kHold, round.key), ElementsAre("pool phones 1"));
  round.key.attempt = Attempt(2);
  EXPECT_THAT(desk.publish(round), Contains("join 1"));
}

TEST(BufferedDesk, AsksADeviceForNewWorkWhoseUpdateIsTooLate) {
  Desk desk;
  desk.publish(buffered(RoundState::collecting, 1, 5));
  EXPECT_THAT(desk.join(1, 1, 2), ElementsAre("too late 2", "ticket 1", "tickets 1.1 1"));
  EXPECT_THAT(desk.join(2, 2, 5), ElementsAre("join 2"));
}

// It may be shown again and again while there is no work.
TEST(BufferedDesk, CountsAnUpdateAsTooLateOnceNewWorkGoesOut) {
  Desk desk;
  desk.publish(buffered(RoundState::collecting, 0, 5));
  EXPECT_THAT(desk.join(1, 1, 2), ElementsAre("pool phones 1"));
  EXPECT_THAT(desk.cancel(1), ElementsAre("pool phones 0"));
  EXPECT_THAT(desk.join(2, 1, 2), ElementsAre("pool phones 1"));
  EXPECT_THAT(desk.publish(notice(RoundState::collecting, 5, kPhones, 7, "other")),
              ElementsAre("too late 2", "ticket 2", "tickets 7.1 1", "pool phones 0"));
}

// Another node has heard of a later round.
TEST(BufferedDesk, LetsNoUpdateIntoARoundOfBeforeIt) {
  Desk desk;
  desk.publish(buffered(RoundState::collecting, 1, 5));
  EXPECT_THAT(desk.join(1, 1, 6), ElementsAre("pool phones 1"));
  EXPECT_THAT(desk.publish(buffered(RoundState::collecting, 0, 6, 2)), Contains("join 1"));
}

TEST(BufferedDesk, SeesThatAnUpdateHasBecomeTooLateWhileItWaits) {
  Desk desk;
  desk.publish(buffered(RoundState::frozen, 0, 5));
  desk.join(1, 1, 4);
  desk.withdraw();
  EXPECT_THAT(desk.publish(buffered(RoundState::collecting, 3, 7, 2)),
              ElementsAre("too late 4", "ticket 1", "tickets 2.1 1", "pool phones 0"));
}

TEST(BufferedDesk, CountsADeviceOnceARound) {
  Desk desk;
  desk.publish(buffered(RoundState::collecting, 5, 5));
  EXPECT_THAT(desk.join(1, 1, 4), ElementsAre("join 1"));
  EXPECT_THAT(desk.join(2, 1, 4), ElementsAre("join 2")) << "the answer was lost";
  desk.accepted(1);
  EXPECT_THAT(desk.join(3, 1, 4), ElementsAre("pool phones 1"));
}

TEST(BufferedDesk, LetsNobodyRestLess) {
  Desk desk;
  desk.publish(buffered(RoundState::collecting, 5, 5), {}, {device(1)});
  EXPECT_THAT(desk.join(1, 1, 4), ElementsAre("pool phones 1"));
}

// Attempt `attempt` of round `round`, of the same model.
RoundNotice attempt_of(uint32_t attempt, uint64_t round = 1) {
  RoundNotice notice = buffered(RoundState::collecting, 0, 5, round);
  notice.key.attempt = Attempt(attempt);
  return notice;
}

// With secure aggregation a few that vanish end an attempt: others come first then.
TEST(BufferedDesk, LetsADeviceIntoTwoAttemptsThatAreLost) {
  Desk desk;
  for (const uint32_t attempt : {1, 2}) {
    desk.publish(attempt_of(attempt));
    EXPECT_THAT(desk.join(10 * attempt, 1, 4), ElementsAre("join " + std::to_string(10 * attempt)));
    EXPECT_THAT(desk.join(10 * attempt + 1, 1, 4), ElementsAre("join " + std::to_string(10 * attempt + 1)))
        << "the answer was lost";
    desk.desk().withdraw(attempt_of(attempt).key);
  }
  RoundNotice third = attempt_of(3);
  desk.publish(third);
  EXPECT_THAT(desk.join(31, 1, 4), ElementsAre("pool phones 1"));
  EXPECT_THAT(desk.join(32, 2, 4), ElementsAre("join 32")) << "it was not there";
  EXPECT_THAT(desk.publish(third), ElementsAre("pool phones 1")) << "nor when it is served again";
  third.extensions = 1;
  EXPECT_THAT(desk.publish(third), Contains("join 31")) << "too few others came";
}

TEST(BufferedDesk, ForgetsLostAttemptsWithTheirRound) {
  Desk desk;
  for (const uint32_t attempt : {1, 2, 3}) {
    desk.publish(attempt_of(attempt));
    desk.join(attempt, 1, 4);
  }
  EXPECT_EQ(desk.desk().waiting(kPhones), 1u);
  EXPECT_THAT(desk.publish(attempt_of(1, 2)), Contains("join 3"));
}

TEST(BufferedDesk, ForgetsAttemptsThatCountedTheUpdate) {
  Desk desk;
  for (const uint32_t attempt : {1, 2, 3}) {
    desk.publish(attempt_of(attempt));
    EXPECT_THAT(desk.join(attempt, 1, 4), ElementsAre("join " + std::to_string(attempt)));
    desk.desk().accepted(attempt_of(attempt).key, device(1));
  }
}

TEST(LostJoins, AreOfSoManyDevicesAtMost) {
  const auto of = [](uint32_t who) {
    DeviceId device;
    std::memcpy(device.bytes.data(), &who, sizeof who);
    return device;
  };
  const RoundKey first{RoundId(1), Attempt(1)}, second{RoundId(1), Attempt(2)};
  LostJoins joins;
  joins.joined(JobId("old"), first, of(0));
  for (uint32_t who = 0; who < LostJoins::kDevicesMax; ++who) joins.joined(JobId("j"), first, of(who));
  EXPECT_EQ(joins.size(), LostJoins::kDevicesMax);
  EXPECT_EQ(joins.before(JobId("old"), second, of(0)), 0u) << "joined longest ago";
  joins.joined(JobId("j"), first, of(LostJoins::kDevicesMax));
  joins.joined(JobId("j"), second, of(0));
  EXPECT_EQ(joins.size(), LostJoins::kDevicesMax);
  EXPECT_EQ(joins.before(JobId("j"), second, of(LostJoins::kDevicesMax)), 0u) << "no more of one round";
  EXPECT_EQ(joins.before(JobId("j"), second, of(0)), 1u);
  EXPECT_EQ(joins.before(JobId("j"), {RoundId(1), Attempt(3)}, of(0)), 2u);
  joins.goes_on_with(JobId("j"), RoundId(2));
  EXPECT_EQ(joins.size(), 0u);
}

TEST(CheckinDesk, HoldsDevicesAndTellsHowManyWait) {
  Desk desk;
  EXPECT_THAT(desk.check_in(1, 1), ElementsAre("pool phones 1"));
  EXPECT_THAT(desk.check_in(2, 2), ElementsAre("pool phones 2"));
  EXPECT_EQ(desk.desk().waiting(kPhones), 2u);
  EXPECT_EQ(desk.desk().waiting(kTablets), 0u);
  EXPECT_THAT(desk.cancel(1), ElementsAre("pool phones 1"));
  EXPECT_THAT(desk.cancel(1), IsEmpty()) << "gone already";
}

TEST(CheckinDesk, GivesTicketsWhenARoundCollectsAndNotBefore) {
  Desk desk;
  desk.check_in(1, 1);
  desk.check_in(2, 2);
  EXPECT_THAT(desk.publish(notice(RoundState::selecting, 2)), ElementsAre("pool phones 2"));
  const Desk::Lines lines = desk.publish(notice(RoundState::collecting, 2));
  EXPECT_THAT(tickets_in(lines), UnorderedElementsAre("1", "2"));
  EXPECT_EQ(lines.back(), "pool phones 0");
}

TEST(CheckinDesk, ServesLateComersWhileTicketsAreLeft) {
  Desk desk;
  desk.publish(notice(RoundState::collecting, 2));
  EXPECT_THAT(desk.check_in(1, 1), ElementsAre("ticket 1", "tickets 1.1 1"));
  EXPECT_THAT(desk.check_in(2, 2), ElementsAre("ticket 2", "tickets 1.1 2"));
  EXPECT_THAT(desk.check_in(3, 3), ElementsAre("pool phones 1")) << "waits for the next round";
}

TEST(CheckinDesk, HasOnePlaceForADevice) {
  Desk desk;
  desk.check_in(1, 1);
  EXPECT_THAT(desk.check_in(2, 1), ElementsAre("dismiss 1: replaced: by a newer check-in of the same device"));
  EXPECT_EQ(desk.desk().waiting(kPhones), 1u);
  EXPECT_THAT(desk.publish(notice(RoundState::collecting, 5)),
              ElementsAre("ticket 2", "tickets 1.1 1", "pool phones 0"));
}

TEST(CheckinDesk, GivesTheSameRightAgainUntilTheUpdateIsAccepted) {
  Desk desk;
  desk.publish(notice(RoundState::collecting, 1));
  EXPECT_THAT(desk.check_in(1, 1), ElementsAre("ticket 1", "tickets 1.1 1"));
  EXPECT_THAT(desk.check_in(2, 1), ElementsAre("ticket 2", "tickets 1.1 1")) << "the reply was lost; no second place";
  desk.accepted(1);
  EXPECT_THAT(desk.check_in(3, 1), ElementsAre("pool phones 1")) << "it has done its part";
}

TEST(CheckinDesk, DoesNotAskADeviceThatWasCountedBeforeARestart) {
  Desk desk;
  desk.publish(notice(RoundState::collecting, 2));
  desk.accepted(1);
  EXPECT_THAT(desk.check_in(1, 1), ElementsAre("pool phones 1"));
  EXPECT_THAT(desk.check_in(2, 2), ElementsAre("ticket 2", "tickets 1.1 1"));
  desk.accepted(7, 99);  // of a round it does not know
}

TEST(CheckinDesk, GivesAnUndeliveredTicketToSomebodyElse) {
  Desk desk;
  desk.publish(notice(RoundState::collecting, 1));
  desk.check_in(1, 1);
  desk.check_in(2, 2);
  EXPECT_THAT(desk.undelivered(1), ElementsAre("ticket 2", "tickets 1.1 1", "pool phones 0"));
  EXPECT_THAT(desk.undelivered(1), IsEmpty()) << "it holds none any more";
  EXPECT_THAT(desk.undelivered(5), IsEmpty());
  EXPECT_THAT(desk.undelivered(2, 99), IsEmpty());
}

TEST(CheckinDesk, KeepsAnUndeliveredPlaceForWhoComesNext) {
  Desk desk;
  desk.publish(notice(RoundState::collecting, 1));
  desk.check_in(1, 1);
  EXPECT_THAT(desk.undelivered(1), IsEmpty());
  EXPECT_THAT(desk.check_in(2, 2), ElementsAre("ticket 2", "tickets 1.1 1"));
}

TEST(CheckinDesk, SendsEveryoneAwayWhenTheirOwnTimeIsOver) {
  Desk desk;
  EXPECT_EQ(desk.desk().next_deadline(), std::nullopt);
  desk.check_in(1, 1, kPhones, Millis(500));
  desk.check_in(2, 2, kPhones, Millis(200));
  EXPECT_EQ(desk.desk().next_deadline(), Instant(Millis(200)));
  EXPECT_THAT(desk.at(199), IsEmpty());
  EXPECT_THAT(desk.at(200), ElementsAre("dismiss 2: no_round: no round needs this device now", "pool phones 1"));
  EXPECT_EQ(desk.desk().next_deadline(), Instant(Millis(500)));
  EXPECT_THAT(desk.at(10'000), ElementsAre("dismiss 1: no_round: no round needs this device now", "pool phones 0"));
  EXPECT_EQ(desk.desk().next_deadline(), std::nullopt);
}

TEST(CheckinDesk, HoldsNobodyLongerThanItsLimitAndNotWhoDoesNotWait) {
  Desk desk(1, {.waiters_max = 10, .hold_max = Millis(1'000)});
  desk.check_in(1, 1, kPhones, Millis(3'600'000));
  EXPECT_EQ(desk.desk().next_deadline(), Instant(Millis(1'000)));
  EXPECT_THAT(desk.check_in(2, 2, kPhones, Millis(0)),
              ElementsAre("dismiss 2: no_round: no round needs this device now"));
  EXPECT_THAT(desk.check_in(3, 3, kPhones, Millis(-5)),
              ElementsAre("dismiss 3: no_round: no round needs this device now"));
  desk.publish(notice(RoundState::collecting, 2));
  EXPECT_THAT(desk.check_in(4, 4, kPhones, Millis(0)), ElementsAre("ticket 4", "tickets 1.1 2"))
      << "but it gets a ticket";
}

TEST(CheckinDesk, RefusesToHoldMoreThanItCan) {
  Desk desk(1, {.waiters_max = 2, .hold_max = kHold});
  desk.check_in(1, 1);
  desk.check_in(2, 2);
  EXPECT_THAT(desk.check_in(3, 3), ElementsAre("dismiss 3: desk_full: the server holds as many devices as it can"));
  EXPECT_THAT(desk.check_in(4, 2), ElementsAre("dismiss 2: replaced: by a newer check-in of the same device"))
      << "a device that waits already takes its own place";
  desk.publish(notice(RoundState::collecting, 3));
  EXPECT_THAT(desk.check_in(5, 5), ElementsAre("ticket 5", "tickets 1.1 3"))
      << "a full room does not keep tickets back";
}

TEST(CheckinDesk, LetsMoreDevicesInWhenARoundIsExtended) {
  Desk desk;
  for (uint64_t i = 1; i <= 5; ++i) desk.check_in(i, i);
  EXPECT_EQ(tickets_in(desk.publish(notice(RoundState::collecting, 2))).size(), 2u);
  EXPECT_THAT(tickets_in(desk.publish(notice(RoundState::collecting, 2))), IsEmpty()) << "the same again";
  EXPECT_EQ(tickets_in(desk.publish(notice(RoundState::collecting, 4))).size(), 2u) << "two more";
  EXPECT_THAT(desk.check_in(9, 9), ElementsAre("pool phones 2")) << "all four are out";
}

TEST(CheckinDesk, StopsGivingTicketsWhenTheRoundDoesNotCollectAnyMore) {
  Desk desk;
  desk.publish(notice(RoundState::collecting, 2));
  EXPECT_THAT(tickets_in(desk.check_in(1, 1)), ElementsAre("1"));
  desk.publish(notice(RoundState::frozen, 2));
  EXPECT_THAT(desk.check_in(2, 2), ElementsAre("pool phones 1"));
  EXPECT_THAT(desk.check_in(3, 1), ElementsAre("pool phones 2")) << "not even again";
  EXPECT_THAT(desk.undelivered(1), IsEmpty());
  EXPECT_THAT(desk.withdraw(), IsEmpty());
  EXPECT_THAT(desk.withdraw(), IsEmpty());
}

TEST(CheckinDesk, GivesNoTicketToWhoIsCountedSinceBeforeARestart) {
  Desk desk;
  desk.check_in(1, 1);
  desk.check_in(2, 2);
  EXPECT_THAT(tickets_in(desk.publish(notice(RoundState::collecting, 2), {device(1)})), ElementsAre("2"));
}

TEST(CheckinDesk, GivesNoTicketToWhoRestsAndTheNextRoundGivesOne) {
  Desk desk;
  desk.check_in(1, 1);
  desk.check_in(2, 2);
  EXPECT_THAT(tickets_in(desk.publish(notice(RoundState::collecting, 2), {}, {device(1)})), UnorderedElementsAre("2"));
  EXPECT_THAT(desk.check_in(3, 1), ElementsAre("dismiss 1: replaced: by a newer check-in of the same device"));
  EXPECT_EQ(desk.desk().lacking()[notice(RoundState::collecting, 2).key], 0u) << "it would not take a ticket";
  EXPECT_THAT(tickets_in(desk.publish(notice(RoundState::collecting, 2, kPhones, 2))), UnorderedElementsAre("3"));
}

TEST(CheckinDesk, StartsANewAttemptWithFreshTickets) {
  Desk desk;
  desk.publish(notice(RoundState::collecting, 1));
  EXPECT_THAT(tickets_in(desk.check_in(1, 1)), ElementsAre("1"));
  desk.accepted(1);
  RoundNotice next = notice(RoundState::collecting, 1);
  next.key.attempt = Attempt(2);
  desk.publish(next);
  EXPECT_THAT(desk.check_in(2, 1), ElementsAre("ticket 2", "tickets 1.2 1")) << "counted in the old attempt only";
  EXPECT_THAT(desk.undelivered(1), IsEmpty()) << "the old attempt is forgotten";
}

TEST(CheckinDesk, KeepsPopulationsApart) {
  Desk desk;
  EXPECT_THAT(desk.check_in(1, 1, kPhones), ElementsAre("pool phones 1"));
  EXPECT_THAT(desk.check_in(2, 2, kTablets), ElementsAre("pool tablets 1"));
  EXPECT_THAT(desk.publish(notice(RoundState::collecting, 5, kTablets)),
              ElementsAre("ticket 2", "tickets 1.1 1", "pool tablets 0"));
  EXPECT_EQ(desk.desk().waiting(kPhones), 1u);
  EXPECT_THAT(desk.check_in(3, 3, kPhones), ElementsAre("pool phones 2"));
}

TEST(CheckinDesk, ServesASecondJobOfThePopulationWhenTheFirstHasEnough) {
  Desk desk;
  desk.publish(notice(RoundState::collecting, 1, kPhones, 1, "a"));
  desk.publish(notice(RoundState::collecting, 1, kPhones, 2, "b"));
  EXPECT_THAT(desk.check_in(1, 1), ElementsAre("ticket 1", "tickets 1.1 1"));
  EXPECT_THAT(desk.check_in(2, 2), ElementsAre("ticket 2", "tickets 2.1 1"));
  EXPECT_THAT(desk.check_in(3, 3), ElementsAre("pool phones 1"));
}

TEST(CheckinDesk, TellsThePoolToWhoeverPublishesEvenIfItDidNotChange) {
  Desk desk;
  desk.check_in(1, 1);
  EXPECT_THAT(desk.publish(notice(RoundState::selecting, 2)), ElementsAre("pool phones 1"));
  EXPECT_THAT(desk.publish(notice(RoundState::selecting, 2)), ElementsAre("pool phones 1"));
}

TEST(CheckinDesk, ChoosesTheSameDevicesForTheSameSeed) {
  const auto chosen = [](uint64_t seed) {
    Desk desk(seed);
    for (uint64_t i = 1; i <= 20; ++i) desk.check_in(i, i);
    return desk.publish(notice(RoundState::collecting, 5));
  };
  EXPECT_EQ(chosen(1), chosen(1));
  EXPECT_NE(chosen(1), chosen(2));
}

// For development: the order in which devices come differs from run to run, and their keys do not.
TEST(CheckinDesk, DrawsByDeviceWhateverTheOrderTheyCame) {
  const auto chosen = [](uint64_t seed, uint64_t round, uint64_t first) {
    Desk desk(seed, {}, true);
    for (uint64_t i = 0; i < 20; ++i) desk.check_in(i, (i * 7 + first) % 20);
    std::set<uint64_t> devices;
    for (const std::string& waiter : tickets_in(desk.publish(notice(RoundState::collecting, 5, kPhones, round)))) {
      devices.insert((std::stoul(waiter) * 7 + first) % 20);
    }
    return devices;
  };
  std::set<std::set<uint64_t>> draws;
  for (uint64_t round = 1; round <= 10; ++round) {
    for (uint64_t first = 1; first < 20; ++first) EXPECT_EQ(chosen(3, round, first), chosen(3, round, 0));
    draws.insert(chosen(3, round, 0));
  }
  EXPECT_GT(draws.size(), 8u) << "another draw in each round";
  EXPECT_NE(chosen(3, 1, 0), chosen(4, 1, 0));
}

TEST(CheckinDesk, DrawsByDeviceUniformlyOverRounds) {
  constexpr uint64_t kDevices = 12, kTickets = 5, kDraws = 1'500;
  std::vector<double> counts(kDevices);
  for (uint64_t round = 1; round <= kDraws; ++round) {
    Desk desk(1, {}, true);
    for (uint64_t i = 0; i < kDevices; ++i) desk.check_in(i, i);
    for (const std::string& ticket : tickets_in(desk.publish(notice(RoundState::collecting, 5, kPhones, round)))) {
      counts[std::stoul(ticket)] += 1;
    }
  }
  const double expected = static_cast<double>(kDraws * kTickets) / kDevices;
  double sum = 0;
  for (double count : counts) sum += (count - expected) * (count - expected) / expected;
  EXPECT_LT(sum * (kDevices - 1) / (kDevices - kTickets), 50.0) << "as ChoosesUniformly has it";
}

// Five of twelve, fifteen hundred times: every device as often as any other. Counts of a draw without replacement from
// n, k at a time, vary by (n - k) / (n - 1) of what independent draws would; the statistic is scaled back by that.
// Chi-square with 11 degrees of freedom exceeds 50 once in a million seeds.
TEST(CheckinDesk, ChoosesUniformly) {
  constexpr uint64_t kDevices = 12, kTickets = 5, kDraws = 1'500;
  std::vector<double> counts(kDevices);
  std::map<std::set<std::string>, int> subsets;
  for (uint64_t seed = 1; seed <= kDraws; ++seed) {
    Desk desk(seed);
    for (uint64_t i = 0; i < kDevices; ++i) desk.check_in(i, i);
    const std::set<std::string> tickets = tickets_in(desk.publish(notice(RoundState::collecting, kTickets)));
    ASSERT_EQ(tickets.size(), kTickets) << "seed " << seed;
    for (const std::string& ticket : tickets) counts[std::stoul(ticket)] += 1;
    ++subsets[tickets];
  }
  const double expected = static_cast<double>(kDraws * kTickets) / kDevices;
  double sum = 0;
  for (double count : counts) sum += (count - expected) * (count - expected) / expected;
  EXPECT_LT(sum * (kDevices - 1) / (kDevices - kTickets), 50.0);
  EXPECT_GT(subsets.size(), 600u) << "of the 792 subsets, about 119 are missed by chance";
}

// The width of the window that a device is told that is not held.
uint32_t told(CheckinDesk& desk, uint64_t number, Instant now) {
  DeviceId device;
  device.bytes[0] = static_cast<uint8_t>(number);
  device.bytes[1] = static_cast<uint8_t>(number >> 8);
  for (const DeskEffect& effect : desk.check_in(WaiterId(1'000'000 + number), device, kPhones, Millis(0), now)) {
    if (const auto* dismissed = std::get_if<Dismiss>(&effect)) return dismissed->window.max_ms;
  }
  return 0;
}

constexpr PaceSettings kSlow{
    .checkins_per_second_max = 10, .window_min = Millis(1'000), .window_max = Millis(3'600'000)};

TEST(CheckinDesk, TellsWindowsAsWideAsThePopulationIsLargeWhetherItWaitsOrIsAway) {
  CheckinDesk desk({}, kSlow, 1);
  const Instant now(Millis(5'000'000));
  EXPECT_EQ(told(desk, 1, now), 1'000u);
  for (uint64_t device = 2; device <= 100; ++device) (void)told(desk, device, now);
  EXPECT_EQ(desk.steered_here(now).at(kPhones), 200u) << "who is away counts twice";
  EXPECT_EQ(told(desk, 101, now), 20'100u) << "at 10 a second";
  EXPECT_EQ(told(desk, 102, now + Millis(3'600'000)), 1'000u) << "nobody is away any more";
}

TEST(CheckinDesk, OfAFleetGoesByAllOfItAndItsOwnPart) {
  CheckinDesk desk({}, kSlow, 1);
  const Instant now(Millis(5'000'000));
  desk.fleet_knows({{kPhones, 6'000}, {kTablets, 1'000'000}}, 3);
  EXPECT_EQ(told(desk, 1, now), 200'000u) << "2000 of 6000, at 10 a second";
  EXPECT_EQ(desk.steered(now), 2'000u);
  desk.fleet_knows({}, 3);
  for (uint64_t device = 2; device <= 300; ++device) (void)told(desk, device, now);
  EXPECT_EQ(told(desk, 301, now), 20'100u) << "what it sees itself others share: 601 of 3";
  desk.fleet_knows({}, 0);
  EXPECT_EQ(told(desk, 302, now), 60'300u) << "alone";
}

TEST(CheckinDesk, SendsEverybodyAwayAtOnce) {
  Desk desk;
  desk.check_in(1, 1);
  desk.check_in(2, 2);
  EXPECT_EQ(desk.desk().dismiss_all(Instant(Millis(1))).size(), 3u) << "two devices, and how many wait";
  EXPECT_EQ(desk.desk().waiting(kPhones), 0u);
}

}  // namespace
}  // namespace coterie
