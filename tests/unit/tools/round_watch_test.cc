// A watch of a job's events: what it shows without asking, and what it asks for.
#include "tools/demo/round_watch.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/support/matchers.h"
#include "tools/admin/follow_events.h"
#include "tools/admin/live_round.h"

namespace coterie {
namespace {

using nlohmann::json;

RoundReport report(uint64_t number, uint32_t attempt, const std::string& state) {
  RoundReport round;
  round.number = number;
  round.attempt = attempt;
  round.state = state;
  round.goal_count = 5;
  return round;
}

SentEvent event(const std::string& kind, const json& data) { return {.id = "e-1", .kind = kind, .data = data.dump()}; }
SentEvent of_round(const std::string& kind, json more = json::object()) {
  json data = {{"job", "j"}, {"round", 3}, {"attempt", 2}};
  data.update(more);
  return event(kind, data);
}

TEST(LiveRound, IsBroughtUpToDateByTheEventsOfItsRound) {
  std::optional<RoundReport> live = report(3, 2, "selecting");
  const auto brings = [&](const SentEvent& event) {
    const Result<bool> says_all = bring_up_to_date(live, event);
    EXPECT_OK(says_all);
    return says_all && *says_all;
  };
  EXPECT_TRUE(brings(of_round("round", {{"state", "selecting"}, {"selected", 4}, {"accepted", 0}, {"waiting", 7}})));
  EXPECT_EQ(live->selected, 4u);
  EXPECT_TRUE(brings(of_round("round_collecting")));
  EXPECT_EQ(live->state, "collecting");
  EXPECT_TRUE(brings(of_round("updates_accepted", {{"accepted", 2}})));
  EXPECT_EQ(live->accepted, 2u);
  EXPECT_TRUE(brings(of_round("round_frozen")));
  EXPECT_EQ(live->state, "frozen");
  EXPECT_TRUE(brings(of_round("round_finalizing")));
  EXPECT_EQ(live->state, "finalizing");
  const std::optional<RoundReport> before = live;
  for (const char* other :
       {"round_extended", "finalize_failed", "model_released", "job_created", "of_a_later_server"}) {
    EXPECT_TRUE(brings(of_round(other))) << other;
  }
  EXPECT_EQ(live, before);
}

TEST(LiveRound, SaysWhatTheServerIsToBeAskedAbout) {
  std::optional<RoundReport> live = report(3, 2, "collecting");
  for (const char* kind : {"round_opened", "round_done", "round_failed", "job_state_changed", "job_completed",
                           "job_failed", kEventsMissed, "over"}) {
    EXPECT_EQ(*bring_up_to_date(live, of_round(kind)), false) << kind;
  }
  EXPECT_EQ(*bring_up_to_date(live, of_round("round", {{"attempt", 3}})), false) << "another attempt";
  EXPECT_EQ(*bring_up_to_date(live, of_round("updates_accepted", {{"round", 4}})), false) << "another round";
  EXPECT_EQ(*bring_up_to_date(live, event("round", {{"waiting", 1}})), false) << "it is over";
  EXPECT_EQ(live, report(3, 2, "collecting"));
  live.reset();
  EXPECT_EQ(*bring_up_to_date(live, of_round("round")), false) << "it has begun";
  EXPECT_EQ(*bring_up_to_date(live, event("round", {{"waiting", 1}})), true);
  EXPECT_FALSE(live);
}

TEST(LiveRound, RefusesAnEventOfAnotherShape) {
  std::optional<RoundReport> live = report(3, 2, "collecting");
  for (const std::string data : {"", "{", "[]", "7", R"({"round":3})", R"({"round":"3","attempt":2})",
                                 R"({"round":3,"attempt":2,"accepted":"many"})"}) {
    const Result<bool> says_all = bring_up_to_date(live, {.id = {}, .kind = "round", .data = data});
    if (data == "[]" || data == "7") EXPECT_TRUE(!says_all || !*says_all) << data;
    else EXPECT_ERROR(says_all, ErrorCode::malformed, "the server's event round") << data;
  }
}

class WatchEvents : public testing::Test {
 protected:
  WatchEvents() { answer_ = {{"state", "running"}, {"rounds", json::array({round("collecting")})}}; }

  static json round(const char* state) {
    return {{"number", 3}, {"attempt", 2}, {"state", state}, {"goal_count", 5}, {"selected", 5}, {"accepted", 1}};
  }
  Result<nlohmann::json> get(const std::string& target) {
    asked_.push_back(target);
    if (target == "jobs/j") return json{{"reason", "enough"}};
    return answer_;
  }

  json answer_;
  std::vector<std::string> asked_;
  ProgressLine progress_{stdout, true};
  RoundWatch watch_{[this](const std::string& target) { return get(target); }, "j", 9, progress_};
  Instant now_{Millis(1'000'000)};
};

TEST_F(WatchEvents, AsksAtFirstAndThenOnlyForWhatTheEventsDoNotSay) {
  EXPECT_EQ(*watch_.hear({}, now_), false);
  EXPECT_EQ(asked_.size(), 1u) << "what was before the stream";
  EXPECT_EQ(*watch_.hear({of_round("updates_accepted", {{"accepted", 2}}), of_round("round", {{"accepted", 4}})}, now_),
            false);
  EXPECT_EQ(watch_.live()->accepted, 4u);
  EXPECT_EQ(*watch_.hear({}, now_), false);
  EXPECT_EQ(asked_.size(), 1u);
  answer_["rounds"] = json::array({round("done")});
  EXPECT_EQ(*watch_.hear({of_round("round_frozen"), of_round("round_done"), event("round", {{"waiting", 0}})}, now_),
            false);
  EXPECT_EQ(asked_.size(), 2u) << "once for all that came together";
  EXPECT_EQ(watch_.take_attempts().size(), 1u);
  EXPECT_FALSE(watch_.live());
}

TEST_F(WatchEvents, LooksOnceWhenEventsWereMissed) {
  EXPECT_EQ(*watch_.hear({of_round("round")}, now_), false);
  answer_["rounds"] = json::array({round("done")});
  EXPECT_EQ(*watch_.hear({event(kEventsMissed, {{"job", "j"}})}, now_), false);
  EXPECT_EQ(asked_.size(), 2u);
  EXPECT_EQ(watch_.take_attempts().size(), 1u);
}

TEST_F(WatchEvents, EndsByTheStateOfTheJobAndNotByTheStream) {
  EXPECT_EQ(*watch_.hear({event("over", {{"job", "j"}})}, now_), false) << "the job runs: it is for the next stream";
  answer_["state"] = "cancelled";
  EXPECT_EQ(*watch_.hear({event("over", {{"job", "j"}})}, now_), true);
  EXPECT_ERROR(watch_.check_completed(), ErrorCode::conflict, "the job was cancelled: enough");
}

TEST_F(WatchEvents, GivesUpWhenNothingChangesThoughTheServerLives) {
  EXPECT_EQ(*watch_.hear({}, now_), false);
  now_ += Millis(599'000);
  EXPECT_EQ(*watch_.hear({of_round("updates_accepted", {{"accepted", 2}})}, now_), false);
  now_ += Millis(599'000);
  EXPECT_EQ(*watch_.hear({}, now_), false);
  now_ += Millis(2'000);
  EXPECT_ERROR(watch_.hear({}, now_), ErrorCode::timed_out, "waited for 3 of 5 updates of round 3");
}

TEST_F(WatchEvents, WaitsForAJobThatIsPaused) {
  answer_["state"] = "paused";
  EXPECT_EQ(*watch_.hear({}, now_), false);
  now_ += Millis(6'000'000);
  EXPECT_EQ(*watch_.hear({}, now_), false);
}

}  // namespace
}  // namespace coterie
