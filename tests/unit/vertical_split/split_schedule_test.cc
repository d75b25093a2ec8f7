// How much of a round trip batches in flight hide: both machines, each with a clock of its own. A message that comes
// costs its party the same time each time, and is half a round trip under way. No clock of the machine: the figures are
// the schedule's.
#include <deque>

#include "tests/unit/vertical_split/split_pair.h"

namespace coterie::vertical {
namespace {

constexpr double kRoundTrip = 50;  // ms, as the costs

// What a training of 128 steps takes.
double training_ms(uint32_t in_flight, double round_trip, double cost) {
  test::SplitJob job = test::small_job(SplitNetwork::mlp, 512);
  job.settings.in_flight = in_flight;
  job.settings.commit_steps = 64;
  test::SplitPair pair(job);
  struct UnderWay {
    Message message;
    double arrives;
  };
  std::array<std::deque<UnderWay>, 2> to;
  std::array<double, 2> clock = {0, in_flight * cost};  // the first batches are computed before anything comes
  const auto say = [&](PartyIndex from) {
    while (auto message = pair.party(from).next()) {
      message->peer = from;
      to[1 - from].push_back({std::move(*message), clock[from] + round_trip / 2});
    }
  };
  say(1);
  while (!to[0].empty() || !to[1].empty()) {
    const auto begins = [&](PartyIndex party) {
      return to[party].empty() ? 1e300 : std::max(clock[party], to[party].front().arrives);
    };
    const PartyIndex party = begins(0) <= begins(1) ? 0 : 1;
    clock[party] = begins(party) + cost;
    EXPECT_OK(pair.party(party).receive(to[party].front().message));
    to[party].pop_front();
    say(party);
  }
  EXPECT_TRUE(pair.party(0).done() && pair.party(1).done());
  return std::max(clock[0], clock[1]);
}

double hidden(uint32_t in_flight, double cost) {
  constexpr double kSteps = 128;
  return 1 - (training_ms(in_flight, kRoundTrip, cost) - training_ms(in_flight, 0, cost)) / (kSteps * kRoundTrip);
}

TEST(SplitSchedule, HidesARoundTripBehindBatchesInFlight) {
  std::printf("hidden of 50 ms, by what a step costs each party:\n");
  for (const double cost : {1.0, 5.0, 10.0, 20.0}) {
    std::printf("%4.0f ms: 1 in flight %.2f, 2 %.2f, 4 %.2f, 8 %.2f\n", cost, hidden(1, cost), hidden(2, cost),
                hidden(4, cost), hidden(8, cost));
  }
  EXPECT_NEAR(hidden(1, 10), 0, 1e-9);
  EXPECT_GT(hidden(4, 10), 0.8);
  EXPECT_GT(hidden(8, 5), 0.8);
  EXPECT_GT(hidden(4, 1), 0.7) << "a quarter of the round trip is what is left";
}

}  // namespace
}  // namespace coterie::vertical
