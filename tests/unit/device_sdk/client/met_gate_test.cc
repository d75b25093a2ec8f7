// What a device says of itself: the last gate that it met, after each kind of answer.
#include "device_sdk/client/met_gate.h"

#include <gmock/gmock.h>

#include "device_sdk/client/gate_met.h"
#include "tests/unit/device_sdk/client/dialogue.h"

namespace coterie {
namespace {

using test::Dialogue;

// A dialogue, and what the device has met by its last step: "plan_refused/charging", or "-".
class Meeting {
 public:
  explicit Meeting(ParticipantPolicy policy = {}) : with(1, std::move(policy)) {}
  std::string hears(const ParticipantEvent& event) {
    const RoundKey before = with.state().assignment ? with.state().assignment->round : RoundKey{};
    with.tell(event);
    met = gate_met(event, before, with.state(), with.machine->last_error(), with.now);
    if (!met) return "-";
    return std::string(to_string(met->gate)) + (met->reason.empty() ? "" : "/" + met->reason);
  }
  std::string hears_well() { return hears(with.good_answer()); }
  // As it is with a ticket.
  void check_in() {
    EXPECT_EQ(hears_well(), "waiting") << "it is enrolled";
    EXPECT_EQ(hears_well(), "ticket");
    EXPECT_EQ(met->round, with.round);
  }

  Dialogue with;
  std::optional<MetGate> met;
};

Failure failed(ErrorCode code) { return {Error(code, "the test says so"), {}}; }

TEST(MetGate, FollowsADeviceIntoItsRound) {
  Meeting device;
  EXPECT_EQ(device.hears(EnrollAnswered{failed(ErrorCode::unavailable)}), "not_enrolled/unavailable");
  EXPECT_EQ(device.met->detail, "the test says so");
  device.check_in();
  EXPECT_EQ(device.hears_well(), "downloaded") << "the plan";
  EXPECT_EQ(device.hears_well(), "downloaded") << "the model";
  EXPECT_EQ(device.hears_well(), "uploading");
  EXPECT_EQ(device.hears(UploadAnswered{failed(ErrorCode::timed_out)}), "failed/timed_out");
  EXPECT_EQ(device.hears_well(), "counted");
  EXPECT_EQ(device.met->round, device.with.round);
}

TEST(MetGate, IsWhatTheServerSaysWhereItSendsADeviceAway) {
  Meeting device;
  device.hears_well();
  const auto sent_away = [&](std::string_view reason) {
    device.with.skip_wait();
    return device.hears(CheckInAnswered{RetryWindow{0, 1, std::string(reason)}});
  };
  for (const DeviceGate gate : {DeviceGate::not_drawn, DeviceGate::no_place, DeviceGate::resting,
                                DeviceGate::unsupported, DeviceGate::desk_full, DeviceGate::no_round}) {
    EXPECT_EQ(sent_away(sentence_of(gate)), to_string(gate));
    EXPECT_EQ(device.met->detail, sentence_of(gate));
    EXPECT_EQ(device.met->round, RoundKey{});
  }
  EXPECT_EQ(sent_away("come back later"), "no_round") << "a server of before there were gates";
  EXPECT_EQ(sent_away("counted: a server that says what it cannot say"), "no_round");
  device.with.skip_wait();
  EXPECT_EQ(device.hears(CheckInAnswered{failed(ErrorCode::overloaded)}), "failed/overloaded");
}

TEST(MetGate, NamesWhyAPlanIsRefused) {
  ParticipantPolicy policy;
  policy.privacy.security_level_min = SecurityLevel::masked;
  Meeting device(policy);
  device.check_in();
  EXPECT_EQ(device.hears_well(), "plan_refused/security_level");
  EXPECT_EQ(device.met->round, device.with.round) << "though the device has given it up";
  EXPECT_FALSE(device.met->detail.empty());
}

TEST(MetGate, NamesWhatHoldsADeviceBack) {
  Meeting device;
  device.hears_well();
  EXPECT_EQ(device.hears(HeldBack{Error(ErrorCode::refused, "it does not charge", refusal_reason::kCharging)}),
            "held/charging");
  EXPECT_EQ(device.met->detail, "it does not charge");
}

TEST(MetGate, TellsALateUpdateFromABadOne) {
  for (const auto& [code, expected] :
       {std::pair(ErrorCode::round_closed, "late"), std::pair(ErrorCode::ticket_expired, "late"),
        std::pair(ErrorCode::too_large, "update_refused/too_large"),
        std::pair(ErrorCode::malformed, "update_refused/malformed")}) {
    Meeting device;
    device.check_in();
    for (int i = 0; i < 3; ++i) device.hears_well();
    EXPECT_EQ(device.hears(UploadAnswered{failed(code)}), expected);
    EXPECT_EQ(device.met->round, device.with.round);
  }
}

TEST(MetGate, IsReadAsItWasWritten) {
  const MetGate met{
      DeviceGate::plan_refused, "charging", {RoundId(7), Attempt(2)}, wall_time_from_unix_ms(1'234), "two\nlines"};
  const Result<MetGate> read = met_gate_from(to_text(met));
  ASSERT_OK(read);
  EXPECT_TRUE(read->is_same(met));
  EXPECT_EQ(read->since, met.since);
  EXPECT_EQ(read->detail, "two lines");
  EXPECT_OK(met_gate_from("gate=counted\nlater=7\n")) << "of a later version";
  for (const char* const damaged : {"", "gate", "gate=asleep\n", "reason=x\n", "gate=counted\nround=x\n"}) {
    EXPECT_ERROR(met_gate_from(damaged), ErrorCode::data_loss, "gate: ");
  }
}

}  // namespace
}  // namespace coterie
