#include "fl_server/tracing/round_traces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "tests/support/matchers.h"

namespace coterie {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr int64_t kBegin = 1'750'000'000'000;
const JobId kJob("digits");

event::RoundName name(uint64_t id, uint64_t number, uint32_t attempt = 1) {
  return {.key = {RoundId(id), Attempt(attempt)}, .number = number};
}

DeviceId device(uint8_t n) {
  DeviceId id;
  id.bytes[0] = n;
  id.bytes[15] = 0x77;
  return id;
}

class RoundTracesTest : public testing::Test {
 protected:
  void tell(int64_t ms, event::What what, const JobId& job = kJob) {
    traces_.happened({.seq = ++seq_, .time = wall_time_from_unix_ms(kBegin + ms), .job = job, .what = std::move(what)});
  }
  void call(const event::RoundName& round, const char* what, int64_t at_us, int64_t took_us) {
    traces_.store_called(round.key, what, Micros(kBegin * 1000 + at_us), Micros(took_us));
  }
  void finish(const event::RoundName& round, int64_t ms) {
    tell(ms, event::RoundDone{.round = round, .updates = 3, .version = ModelVersion(1)});
  }
  json events(std::optional<uint64_t> round = {}) {
    const Result<std::string> file = traces_.file(kJob, round);
    EXPECT_OK(file);
    return file ? json::parse(*file)["traceEvents"] : json::array();
  }
  // Names of slices of this category, in their order.
  std::vector<std::string> slices(const json& events, const std::string& category) {
    std::vector<std::string> names;
    for (const json& event : events) {
      if (event.value("cat", "") == category) names.push_back(event["name"]);
    }
    return names;
  }

  uint64_t seq_ = 0;
  RoundTraces traces_{"life"};
};

TEST_F(RoundTracesTest, ShowsPhasesAndCallsWithTheirTimes) {
  const event::RoundName round = name(1, 7);
  tell(0, event::RoundOpened{round});
  call(round, "open round", -300, 500);  // it began before the event
  tell(10, event::RoundCollecting{round});
  call(round, "accept batch", 12'000, 700);
  call(round, "write partial sum", 12'100, 100);  // at the same time
  tell(20, event::RoundFrozen{round});
  finish(round, 30);
  call(round, "commit round", 29'000, 900);  // it returns after the event
  const json all = events();
  EXPECT_THAT(slices(all, "phase"), ElementsAre("round", "selecting", "collecting", "finalizing"));
  EXPECT_THAT(slices(all, "store"), ElementsAre("open round", "accept batch", "write partial sum", "commit round"));
  std::set<int> threads;
  for (const json& event : all) {
    if (event["name"] == "collecting") {
      EXPECT_EQ(event["ts"], 10'300.0);  // from the first call on
      EXPECT_EQ(event["dur"], 10'000.0);
    }
    if (event["name"] == "open round") EXPECT_EQ(event["ts"], 0.0);
    if (event["name"] == "round") EXPECT_EQ(event["args"]["coterie.round"], 7);
    if (event["name"] == "accept batch" || event["name"] == "write partial sum")
      threads.insert(event["tid"].get<int>());
  }
  EXPECT_EQ(threads.size(), 2u) << "slices of one thread must nest";
}

TEST_F(RoundTracesTest, ShowsDevicesAsNumbersOfTheAttemptAlone) {
  const event::RoundName round = name(1, 1);
  tell(0, event::RoundOpened{round});
  tell(1, event::RoundCollecting{round});
  traces_.device_at(round.key, device(1), DeviceStep::uploads);  // of who was not drawn here: another node's
  for (const DeviceStep step : {DeviceStep::drawn, DeviceStep::uploads, DeviceStep::received, DeviceStep::accepted}) {
    traces_.device_at(round.key, device(2), step);
  }
  traces_.device_at(round.key, device(3), DeviceStep::drawn);
  traces_.device_at(name(9, 9).key, device(4), DeviceStep::drawn);  // of a round that nobody opened
  finish(round, 5);
  const std::string file = *traces_.file(kJob, 1);
  EXPECT_THAT(
      slices(json::parse(file)["traceEvents"], "device"),
      ElementsAre("downloads and trains", "uploads", "becomes durable", "downloads and trains, and does not end"));
  EXPECT_THAT(file, HasSubstr("device 1 of 2"));
  EXPECT_THAT(file, Not(HasSubstr(device(2).hex())));
  EXPECT_THAT(file, Not(HasSubstr(device(2).short_hash())));
}

TEST_F(RoundTracesTest, ShowsAsManyDevicesOfEachAttemptAsItSays) {
  constexpr int kAttempts = 200, kDrawn = 200;
  for (int attempt = 1; attempt <= kAttempts; ++attempt) {
    const event::RoundName round = name(1, 1, static_cast<uint32_t>(attempt));
    tell(attempt * 10, event::RoundOpened{round});
    for (int i = 0; i < kDrawn; ++i) traces_.device_at(round.key, device(static_cast<uint8_t>(i)), DeviceStep::drawn);
    finish(round, attempt * 10 + 5);
  }
  const json all = events(1);
  int devices = 0;
  for (const json& event : all) {
    if (event["name"] != "thread_name" || !event["args"]["name"].get<std::string>().starts_with("device")) continue;
    ++devices;
    EXPECT_THAT(event["args"]["name"], HasSubstr(" of 200"));
  }
  EXPECT_EQ(devices, 16 * 128) << "16 of each of the 128 attempts that are kept";
}

TEST_F(RoundTracesTest, KeepsTheNewestAttemptsAndBoundsEach) {
  for (uint64_t number = 1; number <= RoundTraces::kTracesMax + 2; ++number) {
    const event::RoundName round = name(number, number);
    tell(static_cast<int64_t>(number), event::RoundOpened{round});
    if (number == 100) {
      for (size_t i = 0; i < RoundTraces::kStoreCallsMax + 5; ++i) call(round, "count accepted", 0, 1);
    }
    finish(round, static_cast<int64_t>(number) + 1);
  }
  EXPECT_ERROR(traces_.file(kJob, 2), ErrorCode::not_found, "the newest 128 attempts");
  EXPECT_OK(traces_.file(kJob, 3));
  EXPECT_ERROR(traces_.file(JobId("other"), {}), ErrorCode::not_found, "other");
  const json hundredth = events(100);
  EXPECT_EQ(slices(hundredth, "store").size(), RoundTraces::kStoreCallsMax);
  EXPECT_THAT(hundredth.dump(), HasSubstr(R"("calls":5)"));
  EXPECT_THAT(events().dump(), HasSubstr("round 130, attempt 1")) << "the newest, where none is named";
}

TEST_F(RoundTracesTest, HasAllAttemptsOfARoundAndTheirReasons) {
  tell(0, event::RoundOpened{name(1, 1, 1)});
  tell(3, event::RoundFailed{name(1, 1, 1), "too few \xff updates"});
  tell(4, event::RoundOpened{name(1, 1, 2)});
  EXPECT_EQ(slices(events(1), "phase").size(), 2u) << "the second is under way";
  finish(name(1, 1, 2), 9);
  const json all = events(1);
  EXPECT_THAT(all.dump(), HasSubstr("round 1, attempt 1"));
  EXPECT_THAT(all.dump(), HasSubstr("round 1, attempt 2"));
  EXPECT_THAT(all.dump(), HasSubstr("too few \xef\xbf\xbd updates"));
}

}  // namespace
}  // namespace coterie
