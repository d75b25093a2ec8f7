// coterie-bench-int8: int8 convolutions on one thread, by processor time: a row a layer and adder (prepared_layer.h).
//
// gops counts a multiply-add as two. limit_gops is what the adder's instructions could do at most on registers: the
// fp32 peak of the same vectors, measured beside it, times how many more products an instruction has (vpdpbusd 4,
// vpmaddwd 2). With "nets", whole networks beside the same in float32 (int8_nets.h).
// With "accuracy", what networks lose (quantised_nets.h).
#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/fma_peak.h"
#include "tests/bench/int8_nets.h"
#include "tests/bench/quantised_nets.h"
#include "tests/bench/thread_time.h"
#include "train_kernels/int8/prepared_layer.h"

namespace {

using namespace coterie;
using kernels::Conv2dShape;
using kernels::int8::Adder;

constexpr int kRuns = 41;

struct Layer {
  const char* name;
  Conv2dShape shape;
};

constexpr Conv2dShape image(size_t side, size_t channels, size_t kernel, size_t groups = 1) {
  const size_t pad = kernel / 2;
  return {.batch = 1,
          .height = side,
          .width = side,
          .channels = channels,
          .kernel_h = kernel,
          .kernel_w = kernel,
          .filters = channels,
          .pad_top = pad,
          .pad_left = pad,
          .pad_bottom = pad,
          .pad_right = pad,
          .groups = groups};
}

constexpr Layer kLayers[] = {
    {"convolution 3 x 3, 64 to 64, 56 x 56", image(56, 64, 3)},
    {"convolution 3 x 3, 128 to 128, 28 x 28", image(28, 128, 3)},
    {"convolution 1 x 1, 256 to 256, 14 x 14", image(14, 256, 1)},
    {"depthwise 3 x 3, 128, 28 x 28", image(28, 128, 3, 128)},
};

void measure(const Layer& layer, Adder adder) {
  const Conv2dShape& s = layer.shape;
  std::vector<int8_t> x(s.height * s.width * s.channels), w(s.taps() * s.filters);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<int8_t>(static_cast<int>(i * 37 % 256) - 128);
  for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<int8_t>(static_cast<int>(i * 91 % 255) - 127);
  const std::vector<int32_t> bias(s.filters);
  const std::vector<float> multipliers(s.filters, 1e-4f);
  kernels::int8::PreparedLayer prepared(adder, s, {w.data(), bias.data(), multipliers.data(), 3, {}});
  std::vector<int8_t> y(s.out_h() * s.out_w() * s.filters);
  const bool is_wide = adder == Adder::avx512_vnni,
             is_neon = adder == Adder::neon || adder == Adder::neon_dot || adder == Adder::neon_i8mm;
  std::vector<double> times, peaks;
  for (int run = 0; run < kRuns; ++run) {
    const double before = bench::thread_cpu_seconds();
    prepared.run(x.data(), y.data());
    times.push_back(bench::thread_cpu_seconds() - before);
    peaks.push_back(os::fma_peak(is_wide ? "avx512" : is_neon ? "neon" : "avx2"));
  }
  std::ranges::sort(times);
  std::ranges::sort(peaks);
  const double operations = 2.0 * static_cast<double>(s.out_h() * s.out_w() * s.filters * s.taps());
  const double peak = peaks[kRuns / 2];
  std::printf(
      "{\"bench\": \"int8\", \"layer\": \"%s\", \"adder\": \"%s\", \"gops\": %.1f, \"limit_gops\": %.1f, "
      "\"fp32_peak_gflops\": %.1f, \"us\": %.1f}\n",
      layer.name, std::string(to_string(adder)).c_str(), operations / times[kRuns / 2] / 1e9,
      (adder == Adder::neon_i8mm             ? 8
       : is_wide || adder == Adder::neon_dot ? 4
                                             : 2) *
          peak / 1e9,
      peak / 1e9, times[kRuns / 2] * 1e6);
}

}  // namespace

int main(int count, char** arguments) {
  if (count == 2 && std::string_view(arguments[1]) == "nets") {
    bench::measure_int8_nets();
    return 0;
  }
  if (count == 3 && std::string_view(arguments[1]) == "accuracy") {
    bench::measure_quantised_nets(arguments[2]);
    return 0;
  }
  if (count > 1) {
    std::puts(
        "coterie-bench-int8 [nets]: int8 on one thread, by processor time: layers, or whole networks.\n"
        "coterie-bench-int8 accuracy FOLDER: what networks lose, trained on the test images of MNIST there.");
    return 0;
  }
  for (const Layer& layer : kLayers) {
    for (const Adder adder : {Adder::avx2, Adder::avx512_vnni, Adder::neon, Adder::neon_dot, Adder::neon_i8mm}) {
      if (kernels::int8::has_adder(adder)) measure(layer, adder);
    }
  }
  return 0;
}
