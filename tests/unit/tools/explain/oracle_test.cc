// Explanations against figures that were found another way: slopes by dual numbers in double, Shapley values by all
// subsets, and a network that has learnt to read digits.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <sstream>

#include "device_sdk/runtime/trainer.h"
#include "tests/support/paths.h"
#include "tests/unit/tools/explain/planted_models.h"
#include "tools/data/load.h"
#include "tools/explain/attribution_checks.h"
#include "tools/model/zoo.h"

namespace coterie::test {
namespace {

// A number and its slope by one thing: forward-mode differentiation, which shares nothing with the engine's.
struct Dual {
  double value = 0, slope = 0;
  friend Dual operator+(Dual a, Dual b) { return {a.value + b.value, a.slope + b.slope}; }
  friend Dual operator*(Dual a, Dual b) { return {a.value * b.value, a.slope * b.value + a.value * b.slope}; }
  friend Dual operator/(Dual a, Dual b) {
    return {a.value / b.value, (a.slope * b.value - a.value * b.slope) / (b.value * b.value)};
  }
  friend Dual exp(Dual a) { return {std::exp(a.value), a.slope * std::exp(a.value)}; }
  friend Dual tanh(Dual a) {
    const double t = std::tanh(a.value);
    return {t, a.slope * (1 - t * t)};
  }
};
using Duals = std::vector<Dual>;

// conv 3x3 -> tanh -> mean of 2x2 -> dense -> sigmoid -> dense -> softmax, of 6x6 images with two channels.
struct Net {
  static constexpr size_t kSide = 6, kIn = 2, kMaps = 4, kHidden = 5, kOut = 3, kHalf = kSide / 2,
                          kFlat = kHalf * kHalf * kMaps;
  std::vector<float> conv = drawn(9 * kIn * kMaps, 1), conv_bias = drawn(kMaps, 2), first = drawn(kFlat * kHidden, 3),
                     first_bias = drawn(kHidden, 4), last = drawn(kHidden * kOut, 5), last_bias = drawn(kOut, 6);

  static std::vector<float> drawn(size_t count, uint64_t seed) {
    Prng prng(seed);
    std::vector<float> values(count);
    for (float& value : values) value = static_cast<float>(prng.uniform(-0.8, 0.8));
    return values;
  }

  Model model() const {
    ModelBuilder build("net", {kSide, kSide, kIn}, 1);
    const auto table = [&](const char* name, const Shape& shape, const std::vector<float>& values) {
      return build.parameter(name, shape, values);
    };
    TensorId x =
        build.op(OpKind::conv2d, {build.input(), table("c", {3, 3, kIn, kMaps}, conv), table("cb", {kMaps}, conv_bias)},
                 Conv2dAttributes{.pad_top = 1, .pad_left = 1, .pad_bottom = 1, .pad_right = 1}, "maps");
    x = build.flatten(build.average_pool2d(build.op(OpKind::tanh, {x}), {.kernel = 2, .stride = 2}));
    x = build.op(OpKind::dense, {x, table("f", {kFlat, kHidden}, first), table("fb", {kHidden}, first_bias)});
    x = build.op(OpKind::sigmoid, {x});
    x = build.op(OpKind::dense, {x, table("l", {kHidden, kOut}, last), table("lb", {kOut}, last_bias)});
    return load_or_die(build.finish(build.op(OpKind::softmax, {x}, AxisAttributes{.axis = 1})));
  }

  Duals maps(const Duals& x) const {
    Duals made(kSide * kSide * kMaps);
    for (size_t y = 0; y < kSide * kSide * kMaps; ++y) {
      const size_t map = y % kMaps, row = y / kMaps / kSide, column = y / kMaps % kSide;
      made[y] = {static_cast<double>(conv_bias[map])};
      for (size_t tap = 0; tap < 9 * kIn; ++tap) {
        const size_t in = tap % kIn, down = row + tap / kIn / 3, across = column + tap / kIn % 3;  // one too far
        if (down < 1 || across < 1 || down > kSide || across > kSide) continue;
        made[y] = made[y] +
                  Dual{static_cast<double>(conv[tap * kMaps + map])} * x[((down - 1) * kSide + across - 1) * kIn + in];
      }
    }
    return made;
  }
  Duals behind_maps(const Duals& maps) const {
    Duals pooled(kFlat);
    for (size_t y = 0; y < maps.size(); ++y) {
      const size_t row = y / kMaps / kSide / 2, column = y / kMaps % kSide / 2;
      Dual& sum = pooled[(row * kHalf + column) * kMaps + y % kMaps];
      sum = sum + tanh(maps[y]) * Dual{0.25};
    }
    Duals hidden = dense(pooled, first, first_bias);
    for (Dual& h : hidden) h = Dual{1} / (Dual{1} + exp(Dual{-1} * h));
    Duals out = dense(hidden, last, last_bias);
    Dual sum;
    for (Dual& o : out) sum = sum + (o = exp(o));
    for (Dual& o : out) o = o / sum;
    return out;
  }
  static Duals dense(const Duals& x, const std::vector<float>& weight, const std::vector<float>& bias) {
    Duals y;
    for (size_t j = 0; j < bias.size(); ++j) {
      Dual sum{static_cast<double>(bias[j])};
      for (size_t i = 0; i < x.size(); ++i) sum = sum + Dual{static_cast<double>(weight[i * bias.size() + j])} * x[i];
      y.push_back(sum);
    }
    return y;
  }

  // The slopes of output `picked` by each of `values`.
  template <typename Rest>
  static std::vector<double> slopes(Duals values, size_t picked, const Rest& rest) {
    std::vector<double> found;
    for (Dual& value : values) {
      value.slope = 1;
      found.push_back(rest(values)[picked].slope);
      value.slope = 0;
    }
    return found;
  }
  std::vector<double> gradient(const std::vector<double>& at, size_t picked) const {
    Duals x;
    for (const double value : at) x.push_back({value});
    return slopes(x, picked, [&](const Duals& values) { return behind_maps(maps(values)); });
  }
};

void expect_near(const std::vector<float>& seen, const std::vector<double>& expected, const char* what) {
  ASSERT_EQ(seen.size(), expected.size()) << what;
  double largest = 0;
  for (const double value : expected) largest = std::max(largest, std::fabs(value));
  ASSERT_GT(largest, 1e-3) << what;
  for (size_t i = 0; i < seen.size(); ++i) EXPECT_NEAR(seen[i], expected[i], 1e-5 * largest) << what << " " << i;
}

AskedModel asked(const Model& model) {
  Result<AskedModel> made = AskedModel::create(model);
  EXPECT_OK(made);
  return std::move(*made);
}

Attribution attribution(AskedModel& model, std::string_view method, std::span<const float> input, uint32_t picked,
                        const AttributionSettings& settings = {}) {
  Result<Attribution> made = find_attribution_method(method)->attribute(model, input, picked, settings);
  EXPECT_OK(made);
  return std::move(*made);
}

TEST(ExplanationOracle, SlopesAreThoseOfDualNumbers) {
  const Net net;
  AskedModel model = asked(net.model());
  const std::vector<float> input = Net::drawn(model.input_size(), 9);
  const std::vector<double> x(input.begin(), input.end());
  for (uint32_t picked = 0; picked < Net::kOut; ++picked) {
    const std::vector<double> slopes = net.gradient(x, picked);
    const std::vector<float> seen = attribution(model, "gradient", input, picked).values;
    expect_near(seen, slopes, "gradient");
    std::vector<float> times_input(seen);
    std::vector<double> expected(slopes);
    for (size_t i = 0; i < x.size(); ++i) times_input[i] *= input[i], expected[i] *= x[i];
    expect_near(times_input, expected, "input times gradient");
  }
  constexpr double kBaseline = 0.25;
  constexpr uint32_t kSteps = 20;
  std::vector<double> parts(x.size());
  for (uint32_t step = 0; step < kSteps; ++step) {
    std::vector<double> at(x);
    for (double& value : at) value = kBaseline + (step + 0.5) / kSteps * (value - kBaseline);
    const std::vector<double> slopes = net.gradient(at, 1);
    for (size_t i = 0; i < x.size(); ++i) parts[i] += slopes[i] / kSteps * (x[i] - kBaseline);
  }
  expect_near(attribution(model, "integrated_gradients", input, 1, {.baseline = kBaseline, .steps = kSteps}).values,
              parts, "integrated gradients");
  Duals values;
  for (const double value : x) values.push_back({value});
  const Duals maps = net.maps(values);
  const std::vector<double> by_maps =
      Net::slopes(maps, 1, [&](const Duals& changed) { return net.behind_maps(changed); });
  std::array<double, Net::kMaps> weight{};
  for (size_t i = 0; i < by_maps.size(); ++i) weight[i % Net::kMaps] += by_maps[i] / (Net::kSide * Net::kSide);
  std::vector<double> bright(Net::kSide * Net::kSide);
  for (size_t i = 0; i < maps.size(); ++i) bright[i / Net::kMaps] += weight[i % Net::kMaps] * maps[i].value;
  for (double& value : bright) value = std::max(value, 0.0);
  expect_near(attribution(model, "grad_cam", input, 1, {.layer = "maps"}).values, bright, "Grad-CAM");
}

constexpr size_t kColumns = 10;

// The first columns of patients, each by its mean and deviation; drawn ones where the table is not there.
std::vector<std::vector<float>> rows() {
  std::vector<std::vector<float>> rows;
  std::ifstream file(source_dir() + "/../shared/data/uci/breast_cancer.csv");
  for (std::string line; std::getline(file, line);) {
    std::istringstream cells(line);
    std::vector<float> row;
    for (std::string cell; row.size() < kColumns && std::getline(cells, cell, ',');) {
      char* end = nullptr;
      const float value = std::strtof(cell.c_str(), &end);
      if (end != cell.c_str()) row.push_back(value);
    }
    if (row.size() == kColumns) rows.push_back(std::move(row));
  }
  if (rows.empty()) {
    for (uint64_t seed = 0; seed < 100; ++seed) rows.push_back(Net::drawn(kColumns, seed));
  }
  for (size_t j = 0; j < kColumns; ++j) {
    double mean = 0, square = 0;
    const auto count = static_cast<double>(rows.size());
    for (const auto& row : rows) mean += static_cast<double>(row[j]) / count;
    for (const auto& row : rows) square += std::pow(static_cast<double>(row[j]) - mean, 2) / count;
    for (auto& row : rows) row[j] = static_cast<float>((static_cast<double>(row[j]) - mean) / std::sqrt(square));
  }
  return rows;
}

// Its columns bear on each other: a hidden layer with weights that close and open it.
Model table_net() {
  ModelBuilder build("table", {kColumns}, 1);
  const auto dense = [&](TensorId x, const std::string& name, int64_t in, int64_t out, uint64_t seed) {
    return build.op(OpKind::dense,
                    {x, build.parameter(name, {in, out}, Net::drawn(static_cast<size_t>(in * out), seed)),
                     build.parameter(name + "b", {out}, Net::drawn(static_cast<size_t>(out), seed + 1))});
  };
  const TensorId hidden = build.op(OpKind::tanh, {dense(build.input(), "f", kColumns, 8, 11)});
  return load_or_die(build.finish(dense(hidden, "l", 8, 2, 13)));
}

// By all subsets: the weight of a set without column j is |S|! (n - |S| - 1)! / n!.
std::vector<double> exact_shapley(AskedModel& model, const std::vector<float>& row, uint32_t picked, float baseline) {
  constexpr size_t kSets = 1u << kColumns;
  std::vector<float> inputs(kSets * kColumns);
  for (size_t set = 0; set < kSets; ++set) {
    for (size_t j = 0; j < kColumns; ++j) inputs[set * kColumns + j] = (set >> j & 1) != 0 ? row[j] : baseline;
  }
  const std::vector<double> score = model.scores(inputs, picked).value();
  std::vector<double> exact(kColumns);
  for (size_t set = 0; set < kSets; ++set) {
    const auto size = static_cast<double>(std::popcount(set));
    for (size_t j = 0; j < kColumns; ++j) {
      if ((set >> j & 1) != 0) continue;
      const double weight = std::exp(std::lgamma(size + 1) + std::lgamma(kColumns - size) - std::lgamma(kColumns + 1));
      exact[j] += weight * (score[set | size_t{1} << j] - score[set]);
    }
  }
  return exact;
}

TEST(ExplanationOracle, ShapleyValuesAreThoseOfAllSubsets) {
  AskedModel model = asked(table_net());
  const std::vector<std::vector<float>> all = rows();
  double error_sum = 0, magnitude = 0, quartered = 0;
  for (size_t r = 0; r < 5; ++r) {
    const std::vector<float>& row = all[r * 17];
    const float baseline = r % 2 == 0 ? 0 : 0.5f;
    const Attribution made = attribution(model, "shapley", row, 1, {.baseline = baseline, .seed = r});
    const std::vector<double> exact = exact_shapley(model, row, 1, baseline);
    ASSERT_EQ(made.standard_errors.size(), kColumns);
    for (size_t j = 0; j < kColumns; ++j) {
      EXPECT_NEAR(made.values[j], exact[j], 4 * static_cast<double>(made.standard_errors[j]) + 1e-5) << r << " " << j;
      error_sum += static_cast<double>(made.standard_errors[j]);
      magnitude += std::fabs(exact[j]);
    }
    const std::vector<float> nothing(kColumns, baseline);
    const double rise = model.scores(row, 1).value()[0] - model.scores(nothing, 1).value()[0];
    EXPECT_NEAR(std::accumulate(made.values.begin(), made.values.end(), 0.0), rise, 1e-5) << "efficiency";
    EXPECT_NEAR(std::accumulate(exact.begin(), exact.end(), 0.0), rise, 1e-5);
    for (const float error :
         attribution(model, "shapley", row, 1, {.baseline = baseline, .orders = 25, .seed = r}).standard_errors) {
      quartered += static_cast<double>(error);
    }
  }
  EXPECT_LT(error_sum, 0.1 * magnitude);
  EXPECT_GT(error_sum, 0);
  EXPECT_NEAR(quartered / error_sum, 2, 0.3) << "a quarter of the orders, twice the error";
}

// Where columns do not bear on each other both are the weight times the way, without an error.
TEST(ExplanationOracle, ShapleyValuesOfASumAreItsParts) {
  AskedModel model = asked(planted_sum({8}, 2, 5));
  const std::vector<float> input = {1, -1, 0.5f, 2, 1, 0.25f, 3, 1};
  const Attribution made = attribution(model, "shapley", input, 0, {.orders = 4});
  EXPECT_NEAR(made.values[2], kRise * 0.5f, 1e-5);
  EXPECT_NEAR(made.values[5], kFall * 0.25f, 1e-5);
  EXPECT_NEAR(made.standard_errors[2], 0, 1e-5);
  const auto refused = find_attribution_method("shapley")->attribute(model, input, 0, {.orders = 1});
  EXPECT_ERROR(refused, ErrorCode::invalid_argument, "two orders or more");
}

// The first so many examples of a source.
class FirstExamples : public ExampleSource {
 public:
  FirstExamples(ExampleSource& source, uint64_t size) : source_(source), size_(size) {}
  uint64_t size() const override { return size_; }
  Status read(uint64_t index, const Example& to) override { return source_.read(index, to); }

 private:
  ExampleSource& source_;
  const uint64_t size_;
};

// A LeNet that has learnt to read digits: what a method points at is missed more than what chance points at.
TEST(ExplanationOracle, DeletionHurtsALeNetMoreThanChance) {
  constexpr uint64_t kLearnt = 256, kAsked = 20;
  const std::string folder = source_dir() + "/../shared/data/mnist-t10k";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "SKIPPED: ../shared/data/mnist-t10k is not there";
  const Result<TrainingData> data = load_data("mnist:" + folder);
  ASSERT_OK(data);
  Result<DatasetSource> source = DatasetSource::load(dataset_file(data->examples));
  ASSERT_OK(source);
  FirstExamples learnt(*source, kLearnt);
  const Model fresh = load_or_die(*make_model(ModelKind::lenet5, {28, 28, 1}, 10, 1));
  const TrainingSettings settings{.loss = Loss::softmax_cross_entropy,
                                  .batch_size = 32,
                                  .local_epochs = 4,
                                  .optimizer = {.kind = OptimizerKind::adam, .learning_rate = 0.002f}};
  Result<Trainer> trainer = Trainer::create(fresh, settings, learnt, 1);
  ASSERT_OK(trainer);
  while (!trainer->finished()) ASSERT_OK(trainer->step());
  AskedModel model = asked(load_or_die(fresh.file_with(trainer->parameters())));
  const AttributionMethod& method = *find_attribution_method("integrated_gradients");
  const AttributionSettings few{.steps = 16};
  Prng prng(1);
  double own = 0, random = 0, right = 0;
  for (uint64_t i = 0; i < kAsked; ++i) {
    Result<Explanation> one = explain(model, *source, 1, kLearnt + i, std::nullopt, method, few);
    ASSERT_OK(one);
    int32_t label = 0;
    std::memcpy(&label, one->target.data(), sizeof label);
    right += one->picked == static_cast<uint32_t>(label) ? 1 : 0;
    std::vector<size_t> order = strongest(one->attribution, one->attribution.values.size());
    std::ranges::stable_sort(order, std::greater{}, [&](size_t at) { return one->attribution.values[at]; });
    own += order_curves(model, *one, order, 0)->deletion / kAsked;
    prng.shuffle(order);
    random += order_curves(model, *one, order, 0)->deletion / kAsked;
  }
  EXPECT_GE(right, 0.7 * kAsked) << "it has learnt";
  EXPECT_LT(own, 0.7 * random) << own << " " << random;
}

}  // namespace
}  // namespace coterie::test
