#include "tests/bench/quantised_nets.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/os/file.h"
#include "device_sdk/runtime/dataset_source.h"
#include "device_sdk/runtime/loss_heads.h"
#include "device_sdk/runtime/trainer.h"
#include "tests/bench/built_net.h"
#include "tools/data/load.h"
#include "tools/model/first_examples.h"
#include "tools/model/fold_norms.h"
#include "tools/model/quantise.h"
#include "tools/model/quantise_full.h"
#include "tools/model/rounded_model.h"

namespace coterie::bench {
namespace {

constexpr uint64_t kTraining = 8000, kJudges = 2000;
constexpr uint32_t kEpochs = 4;
constexpr int kSkipped = 77;
constexpr uint32_t kWidths[] = {8, 6, 5, 4, 3, 2, 1};

Model perceptron() {
  ModelBuilder build("perceptron", {28, 28, 1}, 1);
  const TensorId x = build.relu(build.dense(build.flatten(build.input()), 128));
  return loaded(build, build.dense(x, 10));
}

TensorId normed(ModelBuilder& build, TensorId x, const ConvLayer& layer) {
  return build.batch_norm(build.conv2d(x, layer));
}

Model convolutions() {
  ModelBuilder build("convolutions with norms", {28, 28, 1}, 1);
  TensorId x = build.relu(normed(build, build.input(), {.filters = 16, .kernel = 3, .stride = 2, .pad = 1}));
  x = build.relu(normed(build, x, {.filters = 32, .kernel = 3, .stride = 2, .pad = 1}));
  return loaded(build, build.dense(build.flatten(x), 10));
}

// Three depthwise convolutions, each with a pointwise one behind it.
Model depthwise() {
  ModelBuilder build("depthwise", {28, 28, 1}, 1);
  TensorId x = build.relu(normed(build, build.input(), {.filters = 16, .kernel = 3, .stride = 2, .pad = 1}));
  uint32_t channels = 16;
  for (const uint32_t filters : {32u, 64u, 128u}) {
    const uint32_t stride = filters == 64 ? 2 : 1;
    x = build.relu(
        normed(build, x, {.filters = channels, .kernel = 3, .stride = stride, .pad = 1, .groups = channels}));
    x = build.relu(normed(build, x, {.filters = filters, .kernel = 1}));
    channels = filters;
  }
  return loaded(build, build.dense(build.flatten(build.global_average_pool2d(x)), 10));
}

Model residual() {
  ModelBuilder build("residual", {28, 28, 1}, 1);
  TensorId x = build.relu(normed(build, build.input(), {.filters = 16, .kernel = 3, .stride = 2, .pad = 1}));
  const TensorId y = build.relu(normed(build, x, {.filters = 16, .kernel = 3, .pad = 1}));
  x = build.relu(build.add(x, normed(build, y, {.filters = 16, .kernel = 3, .pad = 1})));
  x = build.max_pool2d(x, {});
  return loaded(build, build.dense(build.flatten(x), 10));
}

// The same function with channels of the first layer of very different sizes.
Model rescaled(const Model& lenet) {
  constexpr float kScales[] = {1, 64, .05f, 8, .5f, 300};
  std::vector<float> values(lenet.parameters().begin(), lenet.parameters().end());
  for (const TensorInfo& tensor : lenet.graph().tensors) {
    for (uint64_t i = 0; has_payload(tensor.role) && i < elements(tensor.shape); ++i) {
      float& value = values[tensor.payload_offset / sizeof(float) + i];
      if (tensor.name.starts_with("conv1")) value *= kScales[i % 6];
      if (tensor.name == "conv2.weight") value /= kScales[i / 16 % 6];
    }
  }
  return need(Model::load(lenet.file_with(values)));
}

struct Digits {
  DatasetSource training, judges;
};

Model trained(const Model& model, DatasetSource& examples, const std::optional<QuantisedTraining>& qat = {}) {
  TrainOptions options;
  options.optimizer = {.kind = OptimizerKind::adam, .learning_rate = .001f};
  options.epochs = kEpochs;
  options.qat = qat;
  Trainer trainer = need(Trainer::create(model, options, examples));
  while (!trainer.finished()) need(trainer.step());
  return need(Model::load(model.file_with(trainer.parameters())));
}

class Measuring {
 public:
  Measuring(std::string name, const Model& model, Digits& digits)
      : name_(std::move(name)),
        model_(need(without_norms(model))),
        digits_(digits),
        evaluator_(need(Evaluator::create(model_, LossSettings{}, 100))) {}

  void weights(uint32_t bits) {
    const std::vector<float> exact(model_.parameters().begin(), model_.parameters().end());
    RoundedModel rounded(model_, exact, int8_weights(model_.graph()), {.bits = bits});
    const double min_max = accuracy(rounded);
    FirstExamples calibration(digits_.training, 512);
    need(learn_means(rounded, calibration, 1));
    for (size_t i = 0; i < rounded.size(); ++i) rounded.change(i, {.bits = bits, .rule = RangeRule::least_mse});
    const double least_mse = accuracy(rounded);
    for (size_t i = 0; i < rounded.size(); ++i) {
      rounded.change(i, {.bits = bits, .rule = RangeRule::least_mse, .is_bias_corrected = rounded.can_correct(i)});
    }
    const double with_bias = accuracy(rounded);
    const QuantiseReport kept =
        need(quantise(model_, digits_.training, digits_.judges, {.loss = {}, .weight_bits = bits, .keep = {}}));
    std::printf(
        "{\"bench\": \"quantised\", \"net\": \"%s\", \"what\": \"weights\", \"bits\": %u, \"float32\": %.2f, "
        "\"min_max\": %.2f, \"least_mse\": %.2f, \"bias\": %.2f, \"kept\": %.2f, \"ratio\": %.2f}\n",
        name_.c_str(), bits, 100 * kept.before.accuracy, min_max, least_mse, with_bias, 100 * kept.after.accuracy,
        ratio(kept.file));
    std::fflush(stdout);
  }

  void full(uint32_t bits) {
    const FullQuantiseReport kept =
        need(quantise_full(model_, digits_.training, digits_.judges, {.loss = {}, .weight_bits = bits}));
    std::printf(
        "{\"bench\": \"quantised\", \"net\": \"%s\", \"what\": \"full\", \"bits\": %u, \"float32\": %.2f, "
        "\"kept\": %.2f, \"ratio\": %.2f}\n",
        name_.c_str(), bits, 100 * kept.before.accuracy, 100 * kept.after.accuracy, ratio(kept.file));
    std::fflush(stdout);
  }

  // What cannot be so small has no row.
  void found(double target) {
    const Result<QuantiseReport> done =
        quantise(model_, digits_.training, digits_.judges, {.loss = {}, .target_ratio = target, .keep = {}});
    if (!done && done.error().code() == ErrorCode::invalid_argument) return;
    const QuantiseReport kept = need(done);
    std::printf(
        "{\"bench\": \"quantised\", \"net\": \"%s\", \"what\": \"found\", \"target\": %.0f, \"float32\": %.2f, "
        "\"kept\": %.2f, \"ratio\": %.2f}\n",
        name_.c_str(), target, 100 * kept.before.accuracy, 100 * kept.after.accuracy, ratio(kept.file));
    std::fflush(stdout);
  }

 private:
  double accuracy(const RoundedModel& rounded) {
    return 100 * need(evaluator_.run(rounded.rounded(), digits_.judges)).accuracy;
  }
  double ratio(const Bytes& file) const {
    return static_cast<double>(model_.file().size()) / static_cast<double>(file.size());
  }

  std::string name_;
  Model model_;
  Digits& digits_;
  Evaluator evaluator_;
};

DatasetSource images_of(const ExampleTable& table, uint64_t first, uint64_t count) {
  std::vector<uint32_t> chosen;
  for (uint64_t i = first; i < first + count; ++i) chosen.push_back(static_cast<uint32_t>(i));
  return need(DatasetSource::load(dataset_file(table, chosen)));
}

}  // namespace

void measure_quantised_nets(const std::string& folder) {
  if (!os::exists(folder)) {
    std::printf("SKIPPED: needs the 10,000 test images of MNIST in %s\n", folder.c_str());
    std::exit(kSkipped);
  }
  const TrainingData data = need(load_data("mnist:" + folder));
  Digits digits{images_of(data.examples, 0, kTraining), images_of(data.examples, kTraining, kJudges)};
  for (const Model& start : {lenet("LeNet-5"), depthwise(), perceptron(), convolutions(), residual()}) {
    const std::string& name = start.graph().name;
    const Model model = trained(start, digits.training);
    Measuring measuring(name, model, digits);
    const bool is_of_table = name == "LeNet-5" || name == "depthwise";
    for (const uint32_t bits : kWidths) {
      if (bits == 8 || is_of_table) measuring.weights(bits);
    }
    for (const uint32_t bits : kWidths) {
      if (bits == 8 || (is_of_table && bits <= 4)) measuring.full(bits);
    }
    for (const double target : {8.0, 10.0}) measuring.found(target);
    if (name == "LeNet-5") {
      Measuring other("LeNet-5, rescaled", rescaled(model), digits);
      other.weights(8);
      other.full(8);
    }
    if (name == "depthwise") {
      Measuring other("depthwise, trained for 4 bits",
                      trained(model, digits.training, QuantisedTraining{QuantisedParts::weights, 4}), digits);
      other.weights(4);
    }
  }
}

}  // namespace coterie::bench
