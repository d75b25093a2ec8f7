// coterie-bench-conv2d-regret: what the cost model of convolutions gives away on one thread.
//
//   coterie-bench-conv2d-regret [--json] [--shapes N] [--seed S] [--all]
//
// N shapes (200) that more than one way computes are drawn by the seed (1). Each is computed in every way that may, in
// turns, and takes the least processor time of its samples: weights as a training prepares them in each step, then the
// forward pass; and forward alone, as a prediction whose weights were prepared once. Regret is the time of the way that
// the cost model chooses over that of the fastest, less 1. --all prints each shape, too.
#include "tests/bench/conv2d_regret.h"

#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "base/random.h"
#include "tests/bench/thread_time.h"
#include "train_kernels/kernel_table.h"
#include "train_kernels/workspace.h"

namespace coterie::bench {
namespace {

using kernels::Conv2dAlgorithm;
using kernels::Conv2dShape;

constexpr size_t kSamples = 7;
constexpr double kSecondsOfSample = 0.002;
constexpr float kDifferenceMax =
    1e-3f;  // of the largest output: another convolution would be no way to compute this one

std::vector<float> random_values(Prng& prng, size_t count) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(prng.uniform(-1, 1));
  return values;
}

// One shape's operands, and what each way needs beside them.
struct Operands {
  Operands(const Conv2dShape& s, Prng& prng)
      : x(random_values(prng, s.batch * s.height * s.width * s.channels)),
        w(random_values(prng, s.taps() * s.filters)),
        y(s.batch * s.out_h() * s.out_w() * s.filters) {}

  std::vector<float> x, w, y;
};

struct Way {
  Way(const Conv2dShape& s, Conv2dAlgorithm own) : shape(s), algorithm(own) {
    kernels::measured_algorithm = algorithm;
    prepared.resize(kernels::prepares_conv2d_forward(s) ? kernels::conv2d_forward_prepared_bytes(s) / sizeof(float) + 64
                                                        : 0);
    workspace.resize(kernels::conv2d_forward_workspace(s) / sizeof(float) + 64);
  }

  static float* aligned(std::vector<float>& memory) {
    if (memory.empty()) return nullptr;
    const auto address = reinterpret_cast<uintptr_t>(memory.data());
    return memory.data() + (63 - (address - 1) % 64) / sizeof(float);
  }

  void prepare(const Operands& operands) {
    if (!prepared.empty())
      kernels::kernels().conv2d_prepare_forward(shape, {0, shape.channels / shape.groups}, operands.w.data(),
                                                aligned(prepared));
  }
  void forward(Operands& operands) {
    const bool is_replaced = kernels::prepared_replaces_forward(shape);
    kernels::kernels().conv2d_forward(shape, operands.x.data(), is_replaced ? nullptr : operands.w.data(),
                                      aligned(prepared), nullptr, kernels::Activation::none, operands.y.data(),
                                      aligned(workspace));
  }

  template <typename Run>
  static void sample(double& least, size_t calls, const Run& run) {
    const double before = thread_cpu_seconds();
    for (size_t i = 0; i < calls; ++i) run();
    least = std::min(least, (thread_cpu_seconds() - before) / static_cast<double>(calls));
  }

  void measure(Operands& operands) {
    kernels::measured_algorithm = algorithm;
    if (calls == 0) {
      const double before = thread_cpu_seconds();
      forward(operands);
      calls = std::max<size_t>(1, static_cast<size_t>(kSecondsOfSample / (thread_cpu_seconds() - before + 1e-9)));
    }
    sample(preparing, calls, [&] { prepare(operands); });
    sample(computing, calls, [&] { forward(operands); });
  }

  Conv2dShape shape;
  Conv2dAlgorithm algorithm;
  std::vector<float> prepared, workspace;
  size_t calls = 0;
  double preparing = 1e9, computing = 1e9;
};

bool is_close(const std::vector<float>& a, const std::vector<float>& b) {
  float largest = 0, difference = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::fabs(b[i]));
    difference = std::max(difference, std::fabs(a[i] - b[i]));
  }
  return difference <= kDifferenceMax * largest;
}

struct Sums {
  Regret training, prediction;
};

bool add_shape(const Conv2dShape& s, Prng& prng, bool prints, Sums& sums) {
  kernels::measured_algorithm.reset();
  const Conv2dAlgorithm chosen = kernels::conv2d_algorithm(s);
  Operands operands(s, prng);
  std::vector<Way> ways;
  std::vector<float> expected;
  for (const Conv2dAlgorithm algorithm : algorithms_of(s)) {
    Way& way = ways.emplace_back(s, algorithm);
    way.prepare(operands);
    way.forward(operands);
    if (expected.empty()) expected = operands.y;
    if (!is_close(operands.y, expected)) {
      std::fprintf(stderr, "conv2d_regret: %s computes something else\n", std::string(name_of(algorithm)).c_str());
      return false;
    }
  }
  for (size_t sample = 0; sample < kSamples; ++sample) {
    for (Way& way : ways) way.measure(operands);
  }
  kernels::measured_algorithm.reset();
  std::vector<Timed> training, prediction;
  for (const Way& way : ways) {
    training.push_back({way.algorithm, way.preparing + way.computing});
    prediction.push_back({way.algorithm, way.computing});
  }
  sums.training.add(regret_of(chosen, training));
  sums.prediction.add(regret_of(chosen, prediction));
  if (!prints) return true;
  std::printf("%zux%zux%zux%zu k%zu s%zu -> %zu%s, %s:", s.batch, s.height, s.width, s.channels, s.kernel_h, s.stride_h,
              s.filters, s.is_depthwise() ? " depthwise" : "", std::string(name_of(chosen)).c_str());
  for (const Way& way : ways) {
    std::printf(" %s %.0f+%.0f us", std::string(name_of(way.algorithm)).c_str(), way.preparing * 1e6,
                way.computing * 1e6);
  }
  std::printf("; regret %.1f %% %.1f %%\n", 100 * regret_of(chosen, training), 100 * regret_of(chosen, prediction));
  return true;
}

void print(const char* what, const Regret& r, bool json) {
  const char* row = json
                        ? "{\"bench\":\"conv2d_regret\",\"of\":\"%s\",\"shapes\":%zu,\"mean\":%.4f,\"largest\":%.4f,"
                          "\"best_chosen\":%zu}\n"
                        : "%s: %zu shapes, regret %.4f in the mean, %.4f at most; the fastest way was chosen for %zu\n";
  std::printf(row, what, r.shapes, r.mean, r.largest, r.best_chosen);
}

}  // namespace
}  // namespace coterie::bench

int main(int argc, char** argv) {
  using namespace coterie;
  bool json = false, all = false;
  size_t count = 200;
  uint64_t seed = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--json") json = true;
    else if (argument == "--all") all = true;
    else if (argument == "--shapes" && i + 1 < argc) count = std::stoul(argv[++i]);
    else if (argument == "--seed" && i + 1 < argc) seed = std::stoul(argv[++i]);
    else {
      std::fprintf(stderr, "coterie-bench-conv2d-regret [--json] [--shapes N] [--seed S] [--all]\n");
      return 2;
    }
  }
  Prng prng(seed);
  bench::Sums sums;
  for (const kernels::Conv2dShape& s : bench::drawn_shapes(count, seed)) {
    if (!bench::add_shape(s, prng, all, sums)) return 1;
  }
  bench::print("training", sums.training, json);
  bench::print("prediction", sums.prediction, json);
  return 0;
}
