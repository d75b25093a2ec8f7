#include "tests/bench/int8_nets.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "device_sdk/runtime/int8/int8_predictor.h"
#include "device_sdk/runtime/int8/int8_program.h"
#include "device_sdk/runtime/predictor.h"
#include "tests/bench/built_net.h"
#include "tests/bench/thread_time.h"
#include "tests/support/int8_parts.h"

namespace coterie::bench {
namespace {

constexpr int kRuns = 41;
constexpr uint64_t kAtOnce = 16;

// Eight layers with sums, as MLPerf Tiny's for CIFAR-10 has them.
Model residual() {
  ModelBuilder build("residual net, 32 x 32 x 3", {32, 32, 3}, 1);
  TensorId x = build.relu(build.conv2d(build.input(), {.filters = 16, .kernel = 3, .pad = 1}));
  for (const uint32_t filters : {16u, 32u, 64u}) {
    const uint32_t stride = filters == 16 ? 1 : 2;
    TensorId y = build.relu(build.conv2d(x, {.filters = filters, .kernel = 3, .stride = stride, .pad = 1}));
    y = build.conv2d(y, {.filters = filters, .kernel = 3, .pad = 1});
    if (filters != 16) x = build.conv2d(x, {.filters = filters, .kernel = 1, .stride = stride});
    x = build.relu(build.add(x, y));
  }
  return loaded(build, build.dense(build.op(OpKind::global_average_pool2d, {x}), 10));
}

// Depthwise and pointwise convolutions in turns, as MobileNet has them.
Model separable() {
  ModelBuilder build("depthwise net, 96 x 96 x 3", {96, 96, 3}, 1);
  TensorId x = build.relu(build.conv2d(build.input(), {.filters = 16, .kernel = 3, .stride = 2, .pad = 1}));
  uint32_t channels = 16;
  for (const uint32_t filters : {32u, 64u, 64u, 128u, 128u, 256u}) {
    const uint32_t stride = filters == channels ? 1 : 2;
    x = build.relu(build.conv2d(x, {.filters = channels, .kernel = 3, .stride = stride, .pad = 1, .groups = channels}));
    x = build.relu(build.conv2d(x, {.filters = filters, .kernel = 1}));
    channels = filters;
  }
  return loaded(build, build.dense(build.op(OpKind::global_average_pool2d, {x}), 10));
}

Int8Program program_of(const Model& model) {
  const test::Int8Parts parts = test::int8_parts(model);
  return need(make_int8_program(model, parts.weights, parts.grids));
}

double microseconds_an_example(uint64_t count, const std::function<void()>& run) {
  std::vector<double> times;
  for (int i = 0; i < kRuns; ++i) {
    const double before = thread_cpu_seconds();
    run();
    times.push_back(thread_cpu_seconds() - before);
  }
  std::ranges::sort(times);
  return times[kRuns / 2] / static_cast<double>(count) * 1e6;
}

void measure(const Model& model) {
  const Int8Program program = program_of(model);
  Int8Predictor in_int8(program);
  std::vector<float> input(kAtOnce * in_int8.input_elements()), output(kAtOnce * in_int8.output_elements());
  for (size_t i = 0; i < input.size(); ++i) input[i] = static_cast<float>(i * 37 % 256) / 128 - 1;
  const double int8 = microseconds_an_example(kAtOnce, [&] { (void)in_int8.run(input, kAtOnce, output); });
  double fp32 = 0;
  uint64_t best = 0;
  for (const uint64_t batch : {uint64_t{1}, kAtOnce}) {
    Predictor in_float = need(Predictor::create(model, static_cast<uint32_t>(batch)));
    const std::span<const float> inputs[] = {input};
    const double time = microseconds_an_example(kAtOnce, [&] { (void)in_float.run(inputs, kAtOnce, output); });
    if (best == 0 || time < fp32) fp32 = time, best = batch;
  }
  std::printf("{\"bench\": \"int8\", \"net\": \"%s\", \"int8_us\": %.2f, \"fp32_us\": %.2f, \"fp32_batch\": %d}\n",
              program.name.c_str(), int8, fp32, static_cast<int>(best));
}

}  // namespace

void measure_int8_nets() {
  for (const Model& model : {lenet("LeNet-5, 28 x 28"), residual(), separable()}) measure(model);
}

}  // namespace coterie::bench
