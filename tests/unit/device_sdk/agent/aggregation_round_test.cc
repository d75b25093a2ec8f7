// Agents in rounds with secure aggregation: what the server gets is the sum of what they would have sent
// without, whoever vanishes, whatever is lost or repeated, and however often apps are killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <filesystem>
#include <numeric>
#include <utility>

#include "base/os/file.h"
#include "device_sdk/agent/agent.h"
#include "device_sdk/agent/encode_update.h"
#include "proto/codec/codec.h"
#include "proto/ring/ring_vector.h"
#include "secure/identity/key_file.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/device_sdk/agent/aggregation_cohort.h"

namespace coterie::test {
namespace {

using Activity = AgentProgress::Activity;

const std::vector<std::string> kFilesAtRest = {"gate", "identity.key", "lock", "session.state"};

std::string name_of(Exchange exchange) { return "exchange " + std::to_string(static_cast<int>(exchange)); }

TEST(AggregationRound, SumsWhatPlainUpdatesSumUpTo) {
  for (const SecurityLevel level : {SecurityLevel::masked, SecurityLevel::active}) {
    SCOPED_TRACE(to_string(level));
    Cohort cohort(level);
    ASSERT_OK(cohort.run());
    cohort.expect_sum_of(cohort.all());
    for (const uint32_t who : cohort.all()) {
      EXPECT_EQ(cohort.state(who).rounds_done, 1u);
      EXPECT_EQ(cohort.state(who).phase, ParticipantPhase::idle);
      EXPECT_EQ(cohort.files(who), kFilesAtRest) << "nothing of the session stays";
      EXPECT_TRUE(cohort.errors(who).empty());
    }
  }
}

// What is sent is masked: no device's values are in it.
TEST(AggregationRound, SendsNoLaneInTheClear) {
  Cohort cohort(SecurityLevel::active);
  ASSERT_OK(cohort.run());
  for (const uint32_t who : cohort.all()) {
    ASSERT_EQ(cohort.plane.sent(who, Exchange::input).size(), 1u);
    const Bytes& frame = cohort.plane.sent(who, Exchange::input)[0];
    const std::vector<uint64_t> plain = cohort.expected_sum({who});
    const size_t at = frame.size() - (plain.size() + 2) * sizeof(uint64_t);  // two check lanes
    size_t same = 0;
    for (size_t i = 0; i < plain.size(); ++i) same += std::memcmp(&frame[at + i * 8], &plain[i], 8) == 0;
    EXPECT_EQ(same, 0u);
  }
}

TEST(AggregationRound, ADeviceThatVanishesAtAnyExchangeIsInTheSumOrNot) {
  for (const SecurityLevel level : {SecurityLevel::masked, SecurityLevel::active}) {
    for (const Exchange exchange : kExchanges) {
      const bool is_confirming = exchange == Exchange::confirm_request || exchange == Exchange::confirmation;
      if (level == SecurityLevel::masked && is_confirming) continue;
      SCOPED_TRACE(std::string(to_string(level)) + ", " + name_of(exchange));
      Cohort cohort(level);
      cohort.plane.vanish(2, exchange);
      ASSERT_OK(cohort.run());
      EXPECT_TRUE(cohort.plane.has_vanished(2));
      cohort.expect_sum_of(exchange > Exchange::input ? cohort.all() : cohort.all_but(2));
      for (const uint32_t who : cohort.all_but(2)) EXPECT_EQ(cohort.state(who).rounds_done, 1u);
      EXPECT_EQ(cohort.state(2).rounds_done, 0u);
    }
  }
}

TEST(AggregationRound, WhatIsLostOnTheWayIsSaidAgainInTheSameWords) {
  for (const Exchange exchange : kExchanges) {
    SCOPED_TRACE(name_of(exchange));
    Cohort cohort(SecurityLevel::active, 4);
    cohort.quiet_sweeps = 8;
    for (const uint32_t who : {1u, 3u}) {
      cohort.plane.fail_next(who, exchange, SecaggPlane::lost());
      cohort.plane.fail_next(who, exchange, SecaggPlane::lost_answer());
      cohort.plane.fail_next(who, exchange, SecaggPlane::typed(ErrorCode::overloaded));
    }
    ASSERT_OK(cohort.run());
    cohort.expect_sum_of(cohort.all());
    for (const uint32_t who : {1u, 3u}) {
      EXPECT_EQ(cohort.state(who).rounds_done, 1u);
      const std::vector<Bytes>& sent = cohort.plane.sent(who, exchange);
      ASSERT_GE(sent.size(), 4u);
      for (const Bytes& bytes : sent) EXPECT_TRUE(bytes == sent[0]);
    }
  }
}

TEST(AggregationRound, AnswersThatAreNoneAreAskedForAgain) {
  for (const Exchange exchange :
       {Exchange::roster, Exchange::inbox, Exchange::input, Exchange::confirm_request, Exchange::unmask_request}) {
    SCOPED_TRACE(name_of(exchange));
    Cohort cohort(SecurityLevel::active);
    cohort.plane.fail_next(2, exchange, SecaggPlane::garbage());
    ASSERT_OK(cohort.run());
    cohort.expect_sum_of(cohort.all());
    EXPECT_EQ(cohort.state(2).rounds_done, 1u);
  }
}

TEST(AggregationRound, AServerThatEndsTheSessionForADeviceEndsIt) {
  for (const ErrorCode code : {ErrorCode::round_closed, ErrorCode::ticket_expired, ErrorCode::conflict}) {
    for (const Exchange exchange : kExchanges) {
      SCOPED_TRACE(std::string(traits(code).name) + ", " + name_of(exchange));
      Cohort cohort(SecurityLevel::active, 4);
      cohort.plane.fail_next(2, exchange, SecaggPlane::typed(code));
      ASSERT_OK(cohort.run());
      cohort.expect_sum_of(exchange > Exchange::input ? cohort.all() : cohort.all_but(2));
      const bool has_done_its_part = code == ErrorCode::round_closed && exchange > Exchange::input;
      EXPECT_EQ(cohort.state(2).rounds_done, has_done_its_part ? 1u : 0u);
      EXPECT_EQ(cohort.state(2).phase, ParticipantPhase::idle);
      EXPECT_EQ(cohort.files(2), kFilesAtRest);
      if (!has_done_its_part) {
        ASSERT_FALSE(cohort.errors(2).empty());
        EXPECT_EQ(cohort.errors(2)[0].code(), code);
      }
    }
  }
}

// In a buffered round: what was trained is kept, through the app's death, for the session that takes it.
TEST(AggregationRound, AnUpdateThatIsLeftOutJoinsTheSessionThatItIsAskedInto) {
  for (const bool is_killed : {false, true}) {
    SCOPED_TRACE(is_killed);
    Cohort cohort(SecurityLevel::masked, 4, {.versions_max = 3, .exponent = 0.5f});
    cohort.quiet_sweeps = 8;
    cohort.plane.fail_next(2, Exchange::advert, SecaggPlane::typed(ErrorCode::round_closed));
    bool was_late = false;
    cohort.before_step = [&](uint32_t who) {
      if (who != 2) return;
      if (is_killed) ASSERT_OK(cohort.open(who));
      if (cohort.state(who).is_late() && !std::exchange(was_late, true)) cohort.plane.assigns_again(who);
    };
    ASSERT_OK(cohort.run());
    EXPECT_TRUE(was_late);
    cohort.expect_sum_of(cohort.all());
    EXPECT_EQ(cohort.state(2).rounds_done, 1u);
    EXPECT_FALSE(cohort.state(2).is_late());
    EXPECT_EQ(cohort.files(2), kFilesAtRest);
  }
}

TEST(AggregationRound, AppsThatAreKilledBeforeEveryStepComeToTheSameSum) {
  for (const SecurityLevel level : {SecurityLevel::masked, SecurityLevel::active}) {
    SCOPED_TRACE(to_string(level));
    Cohort cohort(level);
    cohort.before_step = [&](uint32_t who) { ASSERT_OK(cohort.open(who)); };
    ASSERT_OK(cohort.run());
    cohort.expect_sum_of(cohort.all());
    for (const uint32_t who : cohort.all()) {
      EXPECT_EQ(cohort.state(who).rounds_done, 1u);
      EXPECT_TRUE(cohort.errors(who).empty());
      EXPECT_THAT(cohort.state(who).openings, testing::ElementsAre(ModelOpenings{cohort.plane.assignment().model, 1,
                                                                                 level == SecurityLevel::masked}));
      for (const Exchange exchange : kExchanges) {
        const std::vector<Bytes>& sent = cohort.plane.sent(who, exchange);
        for (const Bytes& bytes : sent) EXPECT_TRUE(bytes == sent[0]) << name_of(exchange);
      }
    }
  }
}

TEST(AggregationRound, TheSeedIsTheOwnersAloneAndThereBeforeTheAdvertLeaves) {
  Cohort cohort(SecurityLevel::active);
  int looked = 0;
  cohort.plane.fail_next(0, Exchange::advert, [&](const auto& honest, const BodySink&) {
    struct stat info {};
    EXPECT_EQ(::stat(cohort.in_state(0, "secagg.log").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600u);
    ++looked;
    return honest();
  });
  ASSERT_OK(cohort.run());
  EXPECT_EQ(looked, 1);
  cohort.expect_sum_of(cohort.all());
}

// What opens the sum leaves when the disk has it that this device gave it, whatever becomes of power or process.
TEST(AggregationRound, AnOpeningIsOnTheDiskBeforeTheSharesLeave) {
  for (const SecurityLevel level : {SecurityLevel::masked, SecurityLevel::active}) {
    SCOPED_TRACE(to_string(level));
    Cohort cohort(level);
    const Digest model = cohort.plane.assignment().model;
    const bool is_told = level == SecurityLevel::masked;
    const ModelOpenings once{model, 1, is_told};
    int looked = 0;
    cohort.plane.fail_next(2, Exchange::unmask_request, [&](const auto& honest, const BodySink&) {
      for (const ModelOpenings& of : cohort.state(2).openings) EXPECT_EQ(of, (ModelOpenings{model, 0, is_told}));
      ++looked;
      return honest();
    });
    cohort.plane.fail_next(2, Exchange::unmasking, [&](const auto& honest, const BodySink&) {
      const Result<Bytes> file = os::read_file(cohort.in_state(2, "session.state"), 1 << 20);
      EXPECT_OK(file);
      const Result<ParticipantState> durable = decode_participant_state(*file);
      EXPECT_OK(durable);
      EXPECT_THAT(durable->openings, testing::ElementsAre(once));
      EXPECT_TRUE(durable->has_opened);
      ++looked;
      return honest();
    });
    ASSERT_OK(cohort.run());
    cohort.expect_sum_of(cohort.all());
    EXPECT_EQ(looked, 2);
    EXPECT_THAT(cohort.state(2).openings, testing::ElementsAre(once));
    EXPECT_FALSE(cohort.state(2).has_opened);
  }
}

// The session that was opened and counted is gone from the disk: there is no second one under the same count.
TEST(AggregationRound, AnOpenedSessionIsNotBegunAnew) {
  Cohort cohort(SecurityLevel::active);
  Bytes update;
  bool is_done = false;
  cohort.before_step = [&](uint32_t who) {
    if (who != 2 || is_done) return;
    const Result<Bytes> stored = os::read_file(cohort.in_state(2, "update.cotf"), 1 << 20);
    if (stored) update = *stored;
    if (!cohort.state(2).has_opened) return;
    is_done = true;
    ASSERT_TRUE(std::filesystem::remove(cohort.in_state(2, "secagg.log")));
    ASSERT_OK(os::write_file_atomically(cohort.in_state(2, "update.cotf"), update));
    ASSERT_OK(cohort.open(2));
  };
  ASSERT_OK(cohort.run());
  EXPECT_TRUE(is_done);
  EXPECT_FALSE(cohort.state(2).assignment);
  EXPECT_EQ(cohort.plane.sent(2, Exchange::advert).size(), 1u);
}

// One device's file goes, or is damaged, just before it is needed.
TEST(AggregationRound, AStateThatIsDamagedEndsTheSessionAndNothingElse) {
  const struct {
    Exchange before;
    std::string file;
    bool is_removed;
  } rows[] = {
      {Exchange::inbox, "update.cotf", true},
      {Exchange::inbox, "update.cotf", false},
      {Exchange::inbox, "secagg.log", true},
      {Exchange::inbox, "secagg.log", false},
      {Exchange::confirm_request, "secagg.log", false},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.file + ", " + name_of(row.before));
    Cohort cohort(SecurityLevel::active);
    bool is_done = false;
    cohort.before_step = [&](uint32_t who) {
      if (who != 2 || is_done || cohort.plane.sent(2, row.before).empty()) return;
      is_done = true;
      if (row.is_removed) {
        ASSERT_TRUE(std::filesystem::remove(cohort.in_state(2, row.file)));
      } else {
        ASSERT_OK(os::write_file_atomically(cohort.in_state(2, row.file), Bytes(500, 1)));
      }
      ASSERT_OK(cohort.open(2));
    };
    ASSERT_OK(cohort.run());
    EXPECT_TRUE(is_done);
    cohort.expect_sum_of(row.before > Exchange::input ? cohort.all() : cohort.all_but(2));
    EXPECT_EQ(cohort.state(2).rounds_done, 0u);
    EXPECT_FALSE(cohort.errors(2).empty());
    EXPECT_EQ(cohort.files(2), kFilesAtRest);
  }
}

// A write of the session is a wait for the disk, of all devices of a cohort at once: the state file stays as it is.
TEST(AggregationRound, ExchangesLeaveTheStateFileAlone) {
  Cohort cohort(SecurityLevel::active);
  Bytes before;
  ino_t file_before = 0;  // each write makes a new one
  int unchanged = 0;
  cohort.before_step = [&](uint32_t who) {
    if (who != 2 || cohort.state(2).phase != ParticipantPhase::aggregating) return;
    struct stat info {};
    ASSERT_EQ(::stat(cohort.in_state(2, "session.state").c_str(), &info), 0);
    const Bytes state = encode(cohort.state(2));
    if (state == before) {
      EXPECT_EQ(info.st_ino, file_before);
      ++unchanged;
    }
    before = state;
    file_before = info.st_ino;
  };
  ASSERT_OK(cohort.run());
  cohort.expect_sum_of(cohort.all());
  EXPECT_GE(unchanged, 4) << "each of the server's messages but the last, and the receipt";
}

TEST(AggregationRound, IsRefusedByADeviceThatAsksForMore) {
  Cohort cohort(SecurityLevel::masked);
  cohort.settings(2).policy.privacy.security_level_min = SecurityLevel::active;
  cohort.settings(3).policy.privacy.cohort_min = 3;
  ASSERT_OK(cohort.run());
  cohort.expect_sum_of({0, 1, 4});
  ASSERT_FALSE(cohort.errors(2).empty());
  EXPECT_EQ(cohort.errors(2)[0].code(), ErrorCode::refused);
  EXPECT_EQ(cohort.errors(2)[0].reason(), "security_level");
  ASSERT_FALSE(cohort.errors(3).empty());
  EXPECT_EQ(cohort.errors(3)[0].reason(), "cohort_min");
  EXPECT_TRUE(cohort.plane.sent(2, Exchange::advert).empty());
}

}  // namespace
}  // namespace coterie::test
