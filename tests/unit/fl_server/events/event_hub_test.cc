// Who hears of an event, and when: subscribers at once, readers by a wake and a look; and the log lines that come of
// it.
#include "fl_server/events/event_hub.h"

#include <nlohmann/json.hpp>
#include <thread>

#include "base/log.h"
#include "fl_server/events/log_subscriber.h"
#include "fl_server/events/metrics_subscriber.h"
#include "scheduler/rollout/canary_state.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

const JobId kJob("j1");
const std::string kEpoch = "00000000000000aa";
constexpr size_t kAll = 1'000'000;
const event::RoundName kRound{.key = {RoundId(7), Attempt(2)}, .number = 3};

struct Listener final : EventSubscriber {
  void happened(const Event& event) override { heard.emplace_back(event::kind(event.what)); }
  std::vector<std::string> heard;
};

TEST(EventHub, TellsSubscribersAtOnceAndInOrder) {
  EventHub hub(kEpoch);
  Listener first, second;
  hub.subscribe(first);
  hub.subscribe(second);
  hub.add(kJob, event::RoundFrozen{kRound});
  EXPECT_EQ(first.heard, std::vector<std::string>{"round_frozen"});
  hub.add(kJob, event::RoundFinalizing{kRound});
  EXPECT_EQ(second.heard, (std::vector<std::string>{"round_frozen", "round_finalizing"}));
}

TEST(EventHub, WakesWhoeverWatchesUntilTheWatchEnds) {
  EventHub hub(kEpoch);
  int first = 0, second = 0;
  auto one = hub.watch([&] { ++first; });
  const auto other = hub.watch([&] { ++second; });
  hub.add(kJob, event::RoundFrozen{kRound});
  hub.changed();
  EXPECT_EQ(first, 2);
  one.reset();
  hub.changed();
  EXPECT_EQ(first, 2);
  EXPECT_EQ(second, 3);
}

TEST(EventHub, KnowsAnIdOfAnotherLife) {
  EventHub hub(kEpoch);
  hub.add(kJob, event::RoundFrozen{kRound});
  EXPECT_FALSE(hub.after({kEpoch, 0}, kJob, kAll).missed);
  const EventPage other = hub.after({"00000000000000bb", 0}, kJob, kAll);
  EXPECT_TRUE(other.missed);
  EXPECT_EQ(other.seq, 1u);
}

TEST(EventHub, NumbersWhatManyThreadsAddWithoutAGap) {
  constexpr size_t kThreads = 4, kEach = 500;
  EventHub hub(kEpoch);
  std::atomic<size_t> wakes{0};
  const auto watch = hub.watch([&] { ++wakes; });
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (size_t i = 0; i < kEach; ++i) hub.add(kJob, event::RoundFrozen{kRound});
    });
  }
  for (std::thread& thread : threads) thread.join();
  const EventPage all = hub.after({kEpoch, 0}, kJob, kAll);
  ASSERT_EQ(all.events.size(), kThreads * kEach);
  for (size_t i = 0; i < all.events.size(); ++i) ASSERT_EQ(all.events[i]->seq, i + 1);
  EXPECT_EQ(wakes, kThreads * kEach);
}

// ---- Log lines: those that were there before there were events, field by field

std::vector<std::string> g_lines;

std::vector<std::string> lines_of(const JobId& job, const event::What& what) {
  g_lines.clear();
  set_log_sink([](LogLevel level, std::string_view event, std::span<const LogField> fields) {
    g_lines.push_back(to_json_line(level, event, fields));
  });
  EventHub hub(kEpoch);
  LogSubscriber subscriber;
  hub.subscribe(subscriber);
  hub.add(job, what);
  set_log_sink(nullptr);
  return g_lines;
}

TEST(LogSubscriber, WritesTheLinesThatProgramsKnow) {
  const auto line = [](const event::What& what) {
    const std::vector<std::string> lines = lines_of(kJob, what);
    return lines.size() == 1 ? lines.front() : std::to_string(lines.size()) + " lines";
  };
  EXPECT_EQ(line(event::JobCreated{"n"}), R"({"level":"info","event":"job_created","job":"j1","name":"n"})");
  EXPECT_EQ(line(event::JobStateChanged{JobState::paused}),
            R"({"level":"info","event":"job_state_changed","job":"j1","state":"paused"})");
  EXPECT_EQ(line(event::JobFailed{"why"}), R"({"level":"error","event":"job_failed","job":"j1","reason":"why"})");
  EXPECT_EQ(line(event::ModelReleased{ModelVersion(4), true}),
            R"({"level":"info","event":"model_released","job":"j1","model_version":4,"rolled_back":true})");
  EXPECT_EQ(line(event::CanaryChanged{"c1", ModelVersion(4), CanaryState::running, 0}),
            R"({"level":"info","event":"canary_changed","job":"j1","canary":"c1","model_version":4,"state":"running",)"
            R"("heard":0})");
  EXPECT_EQ(line(event::CanaryChanged{"c1", ModelVersion(4), CanaryState::rolled_back, 9}),
            R"({"level":"warning","event":"canary_changed","job":"j1","canary":"c1","model_version":4,)"
            R"("state":"rolled_back","heard":9})");
  EXPECT_EQ(line(event::RoundCollecting{kRound}),
            R"({"level":"info","event":"round_collecting","job":"j1","round":3,"attempt":2})");
  EXPECT_EQ(line(event::RoundExtended{kRound}),
            R"({"level":"info","event":"round_extended","job":"j1","round":3,"attempt":2})");
  EXPECT_EQ(line(event::FinalizeFailed{kRound, "why"}),
            R"({"level":"error","event":"finalize_failed","job":"j1","reason":"why"})");
  EXPECT_EQ(line(event::RoundFailed{kRound, "why"}),
            R"({"level":"warning","event":"round_failed","job":"j1","round":7,"attempt":2,"reason":"why"})");
  EXPECT_EQ(line(event::RoundDone{.round = kRound, .updates = 5, .version = ModelVersion(3)}),
            R"({"level":"info","event":"round_done","job":"j1","round":3,"updates":5,"model_version":3})");
  EXPECT_EQ(lines_of(JobId(), event::ServerLeads{9}),
            std::vector<std::string>{R"({"level":"info","event":"server_leads","epoch":9})"});
}

TEST(LogSubscriber, WritesNoLineForWhatComesWithEveryBatchOrRepeatsAnother) {
  for (const event::What& what :
       {event::What(event::UpdatesAccepted{kRound, 1}), event::What(event::RoundOpened{kRound}),
        event::What(event::RoundFrozen{kRound}), event::What(event::RoundFinalizing{kRound}),
        event::What(event::JobCompleted{1}), event::What(event::NodesChanged{2})}) {
    EXPECT_TRUE(lines_of(kJob, what).empty()) << event::kind(what);
  }
}

TEST(MetricsSubscriber, KnowsTheLastEvaluationAndTheNodes) {
  Metrics metrics("1");
  MetricsSubscriber subscriber(metrics);
  EventHub hub(kEpoch);
  hub.subscribe(subscriber);
  hub.add(kJob, event::RoundDone{.round = kRound, .version = ModelVersion(3)});
  EXPECT_EQ(metrics.exposition().find("job=\"j1\""), std::string::npos) << "nothing was held out";
  hub.add(kJob, event::RoundDone{
                    .round = kRound, .version = ModelVersion(3), .evaluation_loss = 0.5, .evaluation_accuracy = 0.25});
  hub.add(event::NodesChanged{3});
  const std::string text = metrics.exposition();
  EXPECT_NE(text.find("job=\"j1\"} 0.25"), std::string::npos) << text;
  EXPECT_NE(text.find("coterie_fleet_nodes 3"), std::string::npos) << text;
}

}  // namespace
}  // namespace coterie
