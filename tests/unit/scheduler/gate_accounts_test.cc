// Each device at one gate, never back, and the sum of the gates: whatever comes in whatever order.
#include "scheduler/selection/gate_accounts.h"

#include <gmock/gmock.h>

#include <set>

#include "base/random.h"
#include "proto/messages/refusal.h"
#include "tests/unit/scheduler/desk_script.h"

namespace coterie {
namespace {

using desk_script::device;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using enum DeviceGate;

const RoundKey kFirst{RoundId(1), Attempt(1)}, kSecond{RoundId(2), Attempt(1)};

Instant at(int64_t ms) { return Instant(Millis(ms)); }

GateCounts told_at(GateAccounts& accounts, int64_t ms) {
  accounts.time_is(at(ms));
  const std::vector<ToldGates> told = accounts.take_due();
  return told.empty() ? GateCounts() : told.back().devices;
}

TEST(GateAccounts, MoveDevicesOnAndNeverBack) {
  GateAccounts accounts;
  accounts.begin(kFirst);
  for (uint64_t i = 1; i <= 3; ++i) accounts.note(kFirst, device(i), {waiting});
  accounts.note(kFirst, device(1), {ticket});
  accounts.note(kFirst, device(1), {waiting});  // it checked in again
  accounts.note(kFirst, device(1), {downloaded});
  accounts.note(kFirst, device(1), {ticket});
  accounts.note(kFirst, device(2), {downloaded});  // it has no ticket
  accounts.note(kFirst, device(2), {counted});
  accounts.note(kFirst, device(3), {not_drawn});
  accounts.note(kFirst, device(3), {waiting});
  EXPECT_THAT(told_at(accounts, 1'000),
              ElementsAre(Pair(GateCode{waiting}, 1), Pair(GateCode{not_drawn}, 1), Pair(GateCode{downloaded}, 1)));
  accounts.note(kFirst, device(1), {uploading});
  accounts.note(kFirst, device(1), {counted});
  accounts.note(kFirst, device(1), {update_refused, "malformed"});
  accounts.note(kFirst, device(1), {late});
  accounts.ended(kFirst);
  EXPECT_THAT(told_at(accounts, 1'000),
              ElementsAre(Pair(GateCode{not_drawn}, 1), Pair(GateCode{no_place}, 1), Pair(GateCode{counted}, 1)));
  accounts.check();
}

// It asked again for the ticket that it had, and that answer was lost.
TEST(GateAccounts, CountWhomATicketReachedBefore) {
  GateAccounts accounts;
  accounts.begin(kFirst);
  accounts.note(kFirst, device(1), {ticket});
  accounts.ticket_came_back(kFirst, device(1));
  EXPECT_THAT(told_at(accounts, 1'000), ElementsAre(Pair(GateCode{gone}, 1)));
  accounts.note(kFirst, device(1), {uploading});
  accounts.note(kFirst, device(1), {counted});
  EXPECT_THAT(told_at(accounts, 2'000), ElementsAre(Pair(GateCode{counted}, 1)));
}

TEST(GateAccounts, HaveOneReasonEach) {
  GateAccounts accounts;
  accounts.begin(kFirst);
  for (uint64_t i = 1; i <= 4; ++i) accounts.note(kFirst, device(i), {ticket});
  accounts.note(kFirst, device(1), {plan_refused, refusal_reason::kAnalytics});
  accounts.note(kFirst, device(2), {plan_refused, refusal_reason::kCharging});
  accounts.note(kFirst, device(3), gate_of_refusal(Error(ErrorCode::malformed, "no update")));
  accounts.note(kFirst, device(4), gate_of_refusal(Error(ErrorCode::round_closed, "too late")));
  accounts.note(kFirst, device(5), {downloaded});  // it did not ask here
  const GateCounts counts = told_at(accounts, 1'000);
  std::vector<std::string> names;
  for (const auto& [code, devices] : counts) names.push_back(name_of(code) + " " + std::to_string(devices));
  EXPECT_THAT(names, ElementsAre("plan_refused/analytics 1", "plan_refused/charging 1", "update_refused/malformed 1",
                                 "late 1"));
  // Trained all the same, and sent again.
  accounts.note(kFirst, device(3), {uploading});
  accounts.note(kFirst, device(3), {counted});
  EXPECT_EQ(told_at(accounts, 2'000).at({counted}), 1u);
}

TEST(GateAccounts, AreToldOfNowAndThenAndAtTheEnd) {
  GateAccounts accounts;
  EXPECT_EQ(accounts.next_deadline(), std::nullopt);
  accounts.time_is(at(500));
  accounts.begin(kFirst);
  accounts.note(kFirst, device(1), {ticket});
  EXPECT_EQ(accounts.next_deadline(), at(1'500));
  EXPECT_THAT(accounts.take_due(), IsEmpty());
  EXPECT_EQ(told_at(accounts, 1'500).size(), 1u);
  EXPECT_EQ(accounts.next_deadline(), std::nullopt) << "nothing is new";
  accounts.ended(kFirst);
  EXPECT_EQ(accounts.next_deadline(), at(1'500));
  EXPECT_EQ(accounts.take_due().size(), 1u);
  // Late updates are heard of for a while, and then nobody is remembered.
  accounts.note(kFirst, device(1), {late});
  accounts.note(kFirst, device(2), {ticket});
  EXPECT_THAT(told_at(accounts, 2'000), ElementsAre(Pair(GateCode{late}, 1)));
  EXPECT_EQ(accounts.next_deadline(), at(1'500) + GateAccounts::kLinger);
  EXPECT_EQ(accounts.remembered(), 1u);
  accounts.time_is(at(1'500) + GateAccounts::kLinger);
  EXPECT_THAT(accounts.take_due(), IsEmpty());
  EXPECT_EQ(accounts.remembered(), 0u);
  EXPECT_EQ(accounts.next_deadline(), std::nullopt);
}

TEST(GateAccounts, RememberSoManyAndCountTheOthers) {
  GateAccounts accounts(4);
  accounts.begin(kFirst);
  for (uint64_t i = 1; i <= 3; ++i) accounts.note(kFirst, device(i), {ticket});
  accounts.ended(kFirst);
  EXPECT_EQ(told_at(accounts, 0).at({ticket}), 3u);
  accounts.begin(kSecond);
  for (uint64_t i = 1; i <= 6; ++i) accounts.note(kSecond, device(i), {waiting});  // the first round makes room
  EXPECT_EQ(accounts.remembered(), 4u);
  EXPECT_THAT(told_at(accounts, 1'000), ElementsAre(Pair(GateCode{waiting}, 4), Pair(GateCode{unremembered}, 2)));
  accounts.note(kSecond, device(6), {ticket});  // who has a ticket is remembered
  EXPECT_THAT(told_at(accounts, 2'000),
              ElementsAre(Pair(GateCode{waiting}, 4), Pair(GateCode{unremembered}, 1), Pair(GateCode{ticket}, 1)));
  accounts.check();
}

// Against a plain table of what was noted.
TEST(GateAccounts, SumToWhoAskedWhateverComes) {
  Prng prng(77);
  for (int world = 0; world < 50; ++world) {
    GateAccounts accounts;
    std::set<DeviceId> asked;
    accounts.begin(kFirst);
    bool is_over = false;
    for (int i = 0; i < 300; ++i) {
      const DeviceId who = device(prng.below(30));
      switch (prng.below(12)) {
        case 0: accounts.left(kFirst, who, gone); break;
        case 1: accounts.ticket_came_back(kFirst, who); break;
        case 2: accounts.closed(kFirst); break;
        case 3:
          if (!prng.chance(0.05)) break;
          accounts.ended(kFirst);
          is_over = true;
          break;
        default: {
          constexpr DeviceGate kSome[] = {waiting,   not_drawn, resting,    unsupported,  other_round,
                                          ticket,    joined,    downloaded, plan_refused, update_refused,
                                          uploading, late,      counted};
          const DeviceGate gate = kSome[prng.below(std::size(kSome))];
          if (!is_over && (gate < kFirstWithTicket || gate == ticket || gate == joined)) asked.insert(who);
          accounts.note(kFirst, who, {gate});
        }
      }
      accounts.check();
    }
    accounts.ended(kFirst);
    accounts.time_is(at(1'000'000));
    const std::vector<ToldGates> told = accounts.take_due();
    if (told.empty()) continue;
    uint64_t sum = 0;
    for (const auto& [code, devices] : told.back().devices) sum += devices;
    EXPECT_EQ(sum, asked.size());
    EXPECT_EQ(told.back().asked, asked.size());
  }
}

TEST(DeviceGate, HasOneWordForEach) {
  std::set<std::string_view> names;
  for (size_t i = 0; i < kDeviceGates; ++i) {
    const auto gate = static_cast<DeviceGate>(i);
    EXPECT_TRUE(names.insert(to_string(gate)).second) << to_string(gate);
    EXPECT_EQ(device_gate_from(to_string(gate)), gate);
    EXPECT_FALSE(meaning_of(gate).empty()) << to_string(gate);
    EXPECT_LE(meaning_of(gate).size(), 48u) << "with its number, bar and code in 80 columns";
    const std::string_view sentence = sentence_of(gate);
    EXPECT_TRUE(sentence.empty() || sentence.starts_with(std::string(to_string(gate)) + ": ")) << sentence;
  }
  EXPECT_EQ(device_gate_from("asleep"), std::nullopt);
}

}  // namespace
}  // namespace coterie
