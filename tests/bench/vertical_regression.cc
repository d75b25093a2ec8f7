#include <memory>
#include <vector>

#include "tests/bench/vertical_bench.h"
#include "vertical/regression/dealing.h"
#include "vertical/regression/train_regression.h"

namespace coterie::bench {
namespace {

using namespace coterie::vertical;

constexpr uint32_t kRows = 100'000, kLabelColumns = 30, kFeatureColumns = 270, kBatch = 4096;

RegressionColumns make_columns(uint64_t seed, uint32_t columns) {
  Prng prng(seed);
  RegressionColumns made(columns, std::vector<float>(kRows));
  for (auto& column : made) {
    for (float& value : column) value = static_cast<float>(prng.uniform());
  }
  return made;
}

// What plain double precision takes for the same products: each value once forward, once backward.
double plain_seconds() {
  const uint32_t width = kLabelColumns + kFeatureColumns;
  std::vector<double> values(size_t{kRows} * width, 0.5), weights(width, 0.01), gradient(width);
  const double begin = thread_cpu_seconds();
  for (uint32_t row = 0; row < kRows; ++row) {
    const double* const of_row = &values[size_t{row} * width];
    double margin = 0;
    for (uint32_t c = 0; c < width; ++c) margin += of_row[c] * weights[c];
    const double residual = sigmoid(margin) - 0.5;
    for (uint32_t c = 0; c < width; ++c) gradient[c] += of_row[c] * residual;
  }
  const double seconds = thread_cpu_seconds() - begin;
  if (gradient[0] == 0) std::abort();
  return seconds;
}

}  // namespace

void measure_regression() {
  const RegressionSettings settings{.epochs = 1, .batch = kBatch, .rate = 0.1};
  const RegressionShape shape{.rows = kRows,
                              .label_columns = kLabelColumns + 1,
                              .feature_columns = kFeatureColumns,
                              .batch = kBatch,
                              .epochs = 1};
  std::vector<float> labels(kRows);
  for (uint32_t row = 0; row < kRows; row += 2) labels[row] = 1;
  std::array<PartyWork, 3> work;  // label party, feature party, dealer
  const auto timed = [&work](size_t who, auto call) {
    const double begin = thread_cpu_seconds();
    auto result = call();
    work[who].cpu_s += thread_cpu_seconds() - begin;
    return result;
  };
  const RegressionColumns label_columns = make_columns(1, kLabelColumns);
  const RegressionColumns feature_columns = make_columns(2, kFeatureColumns);
  std::array<std::unique_ptr<RegressionTraining>, 2> parties;
  parties[0] = timed(0, [&] { return value_of(start_label_regression(shape, settings, label_columns, labels)); });
  parties[1] = timed(1, [&] { return value_of(start_feature_regression(shape, settings, feature_columns)); });
  std::vector<Dealing> dealings;
  for (PartyIndex to = 0; to < 2; ++to) dealings.push_back(value_of(Dealing::make(shape, to, seed_of(7), seed_of(8))));

  while (!parties[0]->done() || !parties[1]->done()) {
    for (PartyIndex from = 0; from < 2; ++from) {
      while (auto message = timed(from, [&] { return parties[from]->next(); })) {
        work[from].sent_bytes += static_cast<double>(message->payload.size());
        message->peer = from;
        succeed(timed(1 - from, [&] { return parties[1 - from]->receive(*message); }));
      }
      while (!parties[from]->done() && parties[from]->awaits() == kDealer) {
        auto message = timed(2, [&] { return dealings[from].next(); });
        if (!message) std::abort();
        work[2].sent_bytes += static_cast<double>(message->payload.size());
        message->peer = kDealer;
        succeed(timed(from, [&] { return parties[from]->receive(*message); }));
      }
    }
  }
  if (!parties[0]->model() || !parties[1]->model()) std::abort();
  std::printf(
      "{\"bench\":\"vertical_regression\",\"rows\":%u,\"label_columns\":%u,\"feature_columns\":%u,\"batch\":%u,"
      "\"label_s\":%.3f,\"feature_s\":%.3f,\"dealer_s\":%.3f,\"plain_s\":%.4f,\"label_sent_mb\":%.2f,"
      "\"feature_sent_mb\":%.2f,\"dealt_mb\":%.2f}\n",
      kRows, kLabelColumns, kFeatureColumns, kBatch, work[0].cpu_s, work[1].cpu_s, work[2].cpu_s, plain_seconds(),
      work[0].sent_bytes / 1e6, work[1].sent_bytes / 1e6, work[2].sent_bytes / 1e6);
}

}  // namespace coterie::bench
