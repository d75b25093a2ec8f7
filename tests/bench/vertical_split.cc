#include <algorithm>
#include <deque>
#include <memory>
#include <vector>

#include "device_sdk/runtime/model.h"
#include "tests/bench/vertical_bench.h"
#include "vertical/split/cut_tensor.h"
#include "vertical/split/split_network.h"
#include "vertical/split/train_split.h"

namespace coterie::bench {
namespace {

using namespace coterie::vertical;

constexpr uint32_t kRows = 16 * 512, kLabelColumns = 30, kFeatureColumns = 300, kBatch = 512, kCut = 16, kHidden = 256;
constexpr double kRoundTrip = 0.05;

SplitInputs make_inputs(uint64_t seed, uint32_t columns) {
  Prng prng(seed);
  SplitInputs inputs{.schema = {.is_coded = false, .columns = columns, .categories = {}}, .rows = kRows, .values = {}};
  inputs.values.resize(size_t{kRows} * columns);
  for (float& value : inputs.values) value = static_cast<float>(prng.normal());
  return inputs;
}

SplitSettings settings_of(uint32_t in_flight, CutEncoding encoding) {
  return {.hidden = kHidden,
          .cut = kCut,
          .epochs = 4,
          .batch = kBatch,
          .in_flight = in_flight,
          .activations = encoding,
          .gradients = encoding == CutEncoding::bit1 ? CutEncoding::int8 : encoding};
}

struct SplitTimes {
  double seconds = 0;  // by a clock that stands while messages are under way
  double cpu_s[2] = {0, 0};
  double bytes_a_row[2] = {0, 0};  // sent by each
  uint32_t steps = 0;
};

// Both machines, each with a clock of its own; a message is half a round trip under way. `step_s`: what a message costs
// each party by its clock, so that two runs differ by the schedule alone; without it, what it is measured to take.
SplitTimes run_with(const SplitSettings& settings, double round_trip, const std::array<double, 2>* step_s = nullptr) {
  std::vector<float> labels(kRows);
  for (uint32_t row = 0; row < kRows; row += 2) labels[row] = 1;
  std::array<std::unique_ptr<SplitTraining>, 2> parties;
  SplitTimes times;
  std::array<double, 2> clock{};
  const auto timed = [&](size_t party, auto call) {
    const double begin = thread_cpu_seconds();
    auto result = call();
    const double took = thread_cpu_seconds() - begin;
    times.cpu_s[party] += took;
    clock[party] += step_s == nullptr ? took : (*step_s)[party];
    return result;
  };
  for (size_t party = 0; party < 2; ++party) {
    SplitInputs inputs = make_inputs(party + 1, party == 0 ? kLabelColumns : kFeatureColumns);
    const Model network =
        value_of(Model::load(value_of(party == 0 ? make_label_network(settings, inputs.schema, 1)
                                                 : make_feature_network(settings, inputs.schema, 2))));
    SplitRun run{.settings = settings, .order = {}, .seed = seed_of(party)};
    parties[party] = party == 0 ? value_of(start_label_split(std::move(run), network, std::move(inputs), labels))
                                : value_of(start_feature_split(std::move(run), network, std::move(inputs)));
  }
  struct UnderWay {
    Message message;
    double arrives;
  };
  std::array<std::deque<UnderWay>, 2> to;
  const auto say = [&](size_t from) {
    while (auto message = parties[from]->next()) {
      times.bytes_a_row[from] += static_cast<double>(message->payload.size()) / (kRows * settings.epochs);
      message->peer = static_cast<PartyIndex>(from);
      to[1 - from].push_back({std::move(*message), clock[from] + round_trip / 2});
    }
  };
  say(1);
  // Whoever can begin first.
  while (!to[0].empty() || !to[1].empty()) {
    const auto begins = [&](size_t party) {
      return to[party].empty() ? 1e300 : std::max(clock[party], to[party].front().arrives);
    };
    const size_t party = begins(0) <= begins(1) ? 0 : 1;
    clock[party] = begins(party);
    const Message message = std::move(to[party].front().message);
    to[party].pop_front();
    succeed(timed(party, [&] { return parties[party]->receive(message); }));
    say(party);
  }
  if (!parties[0]->done() || !parties[1]->done()) std::abort();
  times.steps = parties[0]->steps_done();
  times.seconds = std::max(clock[0], clock[1]);
  return times;
}

}  // namespace

void measure_split() {
  const SplitTimes near = run_with(settings_of(1, CutEncoding::float32), 0);
  const std::array<double, 2> one = {near.cpu_s[0] / near.steps, near.cpu_s[1] / near.steps};
  const SplitTimes far = run_with(settings_of(1, CutEncoding::float32), kRoundTrip, &one);
  const SplitTimes measured_4 = run_with(settings_of(4, CutEncoding::float32), 0);
  const std::array<double, 2> four = {measured_4.cpu_s[0] / near.steps, measured_4.cpu_s[1] / near.steps};
  const SplitTimes near_4 = run_with(settings_of(4, CutEncoding::float32), 0, &four);
  const SplitTimes far_4 = run_with(settings_of(4, CutEncoding::float32), kRoundTrip, &four);
  const SplitTimes int8 = run_with(settings_of(1, CutEncoding::int8), 0);
  const SplitTimes bit1 = run_with(settings_of(1, CutEncoding::bit1), 0);
  const double steps = near.steps;
  const auto formula = [](CutEncoding encoding) {
    return static_cast<double>(cut_message_bytes(kBatch, kCut, encoding)) / kBatch;
  };
  std::printf(
      "{\"bench\":\"vertical_split\",\"rows\":%u,\"label_columns\":%u,\"feature_columns\":%u,\"batch\":%u,\"cut\":%u,"
      "\"label_ms\":%.2f,\"feature_ms\":%.2f,\"step_ms\":%.2f,\"far_step_ms\":%.2f,\"near_4_step_ms\":%.2f,"
      "\"far_4_step_ms\":%.2f,\"round_trip_ms\":%.0f,\"hidden\":%.3f,",
      kRows, kLabelColumns, kFeatureColumns, kBatch, kCut, near.cpu_s[0] / steps * 1e3, near.cpu_s[1] / steps * 1e3,
      near.seconds / steps * 1e3, far.seconds / steps * 1e3, near_4.seconds / steps * 1e3, far_4.seconds / steps * 1e3,
      kRoundTrip * 1e3, 1 - (far_4.seconds - near_4.seconds) / (kRoundTrip * steps));
  std::printf(
      "\"float32_forward\":%.3f,\"float32_back\":%.3f,\"float32_formula\":%.3f,\"int8_forward\":%.3f,\"int8_back\":%."
      "3f,"
      "\"int8_formula\":%.3f,\"bit1_forward\":%.3f,\"bit1_formula\":%.3f}\n",
      near.bytes_a_row[1], near.bytes_a_row[0], formula(CutEncoding::float32), int8.bytes_a_row[1], int8.bytes_a_row[0],
      formula(CutEncoding::int8), bit1.bytes_a_row[1], formula(CutEncoding::bit1));
}

}  // namespace coterie::bench
