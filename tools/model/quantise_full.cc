#include "tools/model/quantise_full.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "device_sdk/runtime/int8/int8_outputs.h"
#include "device_sdk/runtime/model_part.h"
#include "tools/model/equalise.h"
#include "tools/model/first_examples.h"
#include "tools/model/fold_norms.h"
#include "tools/model/fold_transposes.h"
#include "tools/model/int8_bias.h"
#include "tools/model/int8_choice.h"
#include "tools/model/int8_compensation.h"
#include "tools/model/partial_model.h"
#include "tools/model/rounded_model.h"
#include "tools/model/width_search.h"

namespace coterie {
namespace {

constexpr uint32_t kBatch = 64;
constexpr uint64_t kNoiseExamples = 8;

// Measures int8 networks that have one output shape.
class Judge {
 public:
  static Result<Judge> create(const Shape& output, const LossSettings& loss) {
    COT_ASSIGN(Model passing, passing_model(output));
    COT_ASSIGN(Evaluator evaluator, Evaluator::create(passing, loss, kBatch));
    return Judge(std::move(passing), std::move(evaluator));
  }
  Result<Evaluation> run(const Int8Program& program, ExampleSource& examples) {
    Int8Outputs outputs(program, examples);
    return evaluator_.run(passing_.parameters(), outputs);
  }

 private:
  Judge(Model passing, Evaluator evaluator) : passing_(std::move(passing)), evaluator_(std::move(evaluator)) {}
  Model passing_;
  Evaluator evaluator_;
};

// Tries remedies on the best choice so far.
class Search {
 public:
  // `exact`: the float32 model's loss.
  Search(Judge& judge, ExampleSource& examples, Int8Choice first, double loss, double exact)
      : judge_(judge), examples_(examples), best_(std::move(first)), loss_(loss), exact_(exact) {}

  // Whether the other choice has a smaller loss, and so is the best now. A loss that is no number is never smaller. One
  // below that of float32 is worth no more than that: what is left there is chance, not the rounding that remedies are
  // for. A choice that cannot be built is none.
  Result<bool> offer(Int8Choice other) {
    if (is_done()) return false;
    const Result<Int8Program> program = other.program();
    if (!program) return false;
    COT_ASSIGN(const Evaluation found, judge_.run(*program, examples_));
    if (!(std::max(found.loss_mean, exact_) < loss_)) return false;
    best_ = std::move(other);
    loss_ = found.loss_mean;
    return true;
  }
  // The choice from here on, whatever was before.
  void start(Int8Choice choice, double loss) { best_ = std::move(choice), loss_ = loss; }
  bool is_done() const { return loss_ <= exact_; }
  const Int8Choice& best() const { return best_; }
  double loss() const { return loss_; }

 private:
  Judge& judge_;
  ExampleSource& examples_;
  Int8Choice best_;
  double loss_, exact_;
};

// All at once first, as the others would have to make up for one that does not; then each as it was, or as it would be.
template <typename Tell>
Status try_compensated(Search& search, const FullQuantiseSettings& settings, const Model& exact,
                       ExampleSource& examples, const Tell& tell) {
  if (search.is_done()) return {};
  const Int8Choice without = search.best();
  COT_ASSIGN(const Int8Choice all, int8_compensated(without, exact, examples, settings.target_elements));
  COT_TRY(search.offer(all));
  for (size_t i = 0; i < without.weight_count() && !search.is_done(); ++i) {
    tell();
    if (!all.is_compensated(i)) continue;
    Int8Choice other = search.best();
    COT_TRY(other.take_weight(i, other.is_compensated(i) ? without : all));
    COT_TRY(search.offer(std::move(other)));
  }
  return {};
}

Status try_rules(Search& search, const FullQuantiseSettings& settings, const Model& exact, ExampleSource& examples) {
  // With ranges of others the first choice has least_mse.
  const GridRule others[] = {GridRule::percentile, settings.ranges != nullptr ? GridRule::min_max : GridRule::least_mse,
                             GridRule::divergence};
  const size_t weights = search.best().weight_count(), grids = search.best().grid_count();
  const size_t in_all = 3 * weights + std::size(others) * grids;
  size_t tried = 0;
  const auto tell = [&] {
    if (settings.progress) settings.progress(tried++, in_all);
  };
  // All at once first: with few bits the gain of one layer drowns in what the others lose.
  if (weights > 1 && !search.is_done()) {
    Int8Choice all = search.best();
    for (size_t i = 0; i < weights; ++i) all.round_weight(i, RangeRule::least_mse);
    COT_TRY(search.offer(std::move(all)));
  }
  for (size_t i = 0; i < weights && !search.is_done(); ++i) {
    tell();
    Int8Choice other = search.best();
    other.round_weight(i, other.weight_rule(i) == RangeRule::min_max ? RangeRule::least_mse : RangeRule::min_max);
    COT_TRY(search.offer(std::move(other)));
  }
  for (size_t i = 0; i < grids; ++i) {
    for (const GridRule rule : others) {
      if (search.is_done()) return {};
      tell();
      Int8Choice other = search.best();
      other.lay_grid(i, rule);
      COT_TRY(search.offer(std::move(other)));
    }
  }
  COT_TRY(try_compensated(search, settings, exact, examples, tell));
  // Last, as the biases follow what all else adds; in the order of the layers, as each follows those before it.
  for (size_t i = 0; i < weights && !search.is_done(); ++i) {
    tell();
    COT_ASSIGN(const auto bias, int8_corrected_bias(search.best(), i, exact, examples, settings.target_elements));
    if (!bias) continue;
    Int8Choice other = search.best();
    COT_TRY(other.correct_bias(i, *bias));
    COT_TRY(search.offer(std::move(other)));
  }
  return {};
}

using Prices = std::vector<std::vector<WidthPrice>>;

// Widths for the weights of the best choice, by what they lose with activations as float32. Returns what they cost.
Result<Prices> find_widths(Search& search, Judge& judge, const Model& original, const FullQuantiseSettings& settings,
                           ExampleSource& examples, FullQuantiseReport& report) {
  Int8Choice plain = search.best();
  const Model model = plain.model();
  std::vector<Int8WeightAxis> axes;
  for (size_t i = 0; i < plain.weight_count(); ++i) {
    const uint32_t tensor = plain.weight_tensor(i);
    axes.push_back({tensor, static_cast<uint32_t>(model.graph().tensors[tensor].shape.size() - 1)});
  }
  RoundedModel rounded(model, {model.parameters().begin(), model.parameters().end()}, axes, {});
  COT_TRY(learn_means(rounded, examples, settings.target_elements));
  COT_ASSIGN(Evaluator evaluator, Evaluator::create(model, settings.loss, kBatch));
  const auto loss = [&](const std::vector<float>& parameters) -> Result<double> {
    COT_ASSIGN(const Evaluation evaluation, evaluator.run(parameters, examples));
    return evaluation.loss_mean;
  };
  COT_ASSIGN(const double exact, loss(rounded.exact()));
  COT_ASSIGN(WidthsFound found,
             search_widths({.loss = loss,
                            .loss_exact = exact,
                            .grids = plain.grids(),
                            .file_bytes_max = smaller_bytes(original.file().size(), *settings.target_ratio),
                            .bits_max = kWeightBitsMax,
                            .progress = settings.progress},
                           rounded));
  for (size_t i = 0; i < plain.weight_count(); ++i) plain.round_weight(i, RangeRule::min_max, rounded.form(i).bits);
  Int8Choice cured = plain;
  COT_ASSIGN(const Int8Program plain_program, plain.program());
  COT_ASSIGN(const Evaluation first, judge.run(plain_program, examples));
  report.calibration_plain = first.loss_mean;
  search.start(std::move(plain), first.loss_mean);
  // What was found for each weight beside its width, all at once.
  for (size_t i = 0; i < cured.weight_count(); ++i) {
    cured.round_weight(i, rounded.form(i).rule);
    if (rounded.form(i).is_bias_corrected) COT_TRY(cured.correct_bias(i, rounded.bias(i)));
  }
  COT_TRY(search.offer(std::move(cured)));
  return std::move(found.prices);
}

// One ratio a value of the program, by the float32 model that it was made of. Precondition: few examples, whose values
// are all held.
Result<std::vector<double>> signal_to_noise(const Int8Choice& choice, ExampleSource& examples,
                                            uint64_t target_elements) {
  COT_ASSIGN(const Int8Program program, choice.program());
  Int8Predictor predictor(program);
  const std::vector<Int8Layer>& layers = choice.layers().layers;
  struct Sums {
    std::vector<float> exact;
    double signal = 0, noise = 0;
  };
  std::vector<Sums> sums(program.values.size());
  for (uint32_t value = 0; value < sums.size(); ++value) {
    const uint32_t tensor = value == 0 ? choice.layers().input : layers[value - 1].output;
    std::vector<float>& exact = sums[value].exact;
    COT_TRY(for_each_activation(choice.model(), tensor, examples, target_elements, [&](std::span<const float> values) {
      exact.insert(exact.end(), values.begin(), values.end());
    }));
  }
  std::vector<float> input(predictor.input_elements()), output(predictor.output_elements()), target(target_elements);
  const Example::Place place(input);
  for (uint64_t example = 0; example < examples.size(); ++example) {
    COT_TRY(examples.read(example, Example({&place, 1}, target)));
    COT_TRY(predictor.run(input, 1, output));
    for (uint32_t value = 0; value < sums.size(); ++value) {
      const kernels::int8::Grid& grid = program.values[value].grid;
      const std::span<const int8_t> found = predictor.value(value);
      for (size_t i = 0; i < found.size(); ++i) {
        const auto x = static_cast<double>(sums[value].exact[example * found.size() + i]);
        const double apart = static_cast<double>(grid.scale) * (found[i] - grid.zero) - x;
        sums[value].signal += x * x;
        sums[value].noise += apart * apart;
      }
    }
  }
  std::vector<double> ratios;
  for (const auto& [exact, signal, noise] : sums) {
    ratios.push_back(noise > 0 ? 10 * std::log10(signal / noise) : std::numeric_limits<double>::infinity());
  }
  return ratios;
}

Int8LayerReport row_of(const Int8Choice& choice, uint32_t tensor) {
  Int8LayerReport row;
  for (size_t i = 0; i < choice.grid_count(); ++i) {
    if (choice.grid_tensor(i) == tensor) row.range = choice.grid_rule(i);
  }
  return row;
}

Int8LayerReport::Weights weights_of(const Int8Choice& choice, size_t i, const Prices& prices) {
  const Shape& shape = choice.model().graph().tensors[choice.weight_tensor(i)].shape;
  const uint32_t bits = choice.weight_bits(i);
  Int8LayerReport::Weights weights{
      .rule = choice.weight_rule(i),
      .bits = bits,
      .is_bias_corrected = choice.is_bias_corrected(i),
      .is_compensated = choice.is_compensated(i),
      .bytes = stored_bytes(elements(shape), bits) + sizeof(float) * static_cast<uint64_t>(shape.back()),
      .price = std::nullopt};
  if (!prices.empty()) weights.price = std::ranges::find(prices[i], bits, &WidthPrice::bits)->loss;
  return weights;
}

// `ratios`: one a value of the program.
Result<std::vector<Int8LayerReport>> rows_of(const Int8Choice& choice, const std::vector<double>& ratios,
                                             const Prices& prices) {
  COT_ASSIGN(const Int8Program program, choice.program());
  std::vector<Int8LayerReport> rows;
  const std::vector<Int8Layer>& layers = choice.layers().layers;
  for (size_t value = 0; value < program.values.size(); ++value) {
    const uint32_t tensor = value == 0 ? choice.layers().input : layers[value - 1].output;
    Int8LayerReport row = row_of(choice, tensor);
    row.name = value == 0 ? "input" : layers[value - 1].name;
    row.op = value == 0 ? "input" : std::string(to_string(layers[value - 1].kind));
    row.scale = program.values[value].grid.scale;
    row.zero = program.values[value].grid.zero;
    row.signal_to_noise_db = ratios[value];
    for (size_t i = 0; value > 0 && i < choice.weight_count(); ++i) {
      if (layers[value - 1].is_weighted() && choice.weight_tensor(i) == layers[value - 1].weight) {
        row.weights = weights_of(choice, i, prices);
      }
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

// What an int8 network is made of: the model's own output alone, whose layers may be folded into each other.
Result<Model> folded_of(const Model& model) {
  COT_ASSIGN(const Model own, with_own_output(model));
  COT_ASSIGN(const Model ordered, without_transposes(own));
  return without_norms(ordered);
}

}  // namespace

Result<FullQuantiseReport> quantise_full(const Model& model, ExampleSource& calibration, ExampleSource& judges,
                                         const FullQuantiseSettings& settings) {
  COT_ASSIGN(const Model folded, folded_of(model));
  FirstExamples examples(calibration, settings.calibration_examples);
  const uint32_t even =
      settings.target_ratio ? even_width(*settings.target_ratio, kWeightBitsMax) : settings.weight_bits;
  COT_ASSIGN(Int8Choice plain, settings.ranges != nullptr
                                   ? Int8Choice::create(folded, *settings.ranges, even)
                                   : Int8Choice::create(folded, examples, settings.target_elements, even));
  FullQuantiseReport report;
  COT_ASSIGN(Evaluator evaluator, Evaluator::create(model, settings.loss, kBatch));
  COT_ASSIGN(report.before, evaluator.run(model.parameters(), judges));
  COT_ASSIGN(const Evaluation exact, evaluator.run(model.parameters(), examples));
  report.calibration_exact = exact.loss_mean;
  COT_ASSIGN(Judge judge, Judge::create(folded.output_shape(), settings.loss));
  COT_ASSIGN(const Int8Program plain_program, plain.program());
  COT_ASSIGN(const Evaluation first, judge.run(plain_program, examples));
  report.calibration_plain = first.loss_mean;
  Search search(judge, examples, std::move(plain), first.loss_mean, exact.loss_mean);
  const std::vector<float> flat = equalised(folded);
  if (settings.ranges == nullptr && !std::ranges::equal(flat, folded.parameters())) {
    COT_ASSIGN(const Model other, Model::load(folded.file_with(flat)));
    COT_ASSIGN(Int8Choice choice, Int8Choice::create(other, examples, settings.target_elements, even));
    COT_ASSIGN(report.is_equalised, search.offer(std::move(choice)));
  }
  const Model uncorrected = search.best().model();
  Prices prices;
  if (settings.target_ratio) {
    COT_ASSIGN(prices, find_widths(search, judge, model, settings, examples, report));
  }
  COT_TRY(try_rules(search, settings, uncorrected, examples));
  report.calibration_loss = search.loss();
  COT_ASSIGN(const Int8Program best, search.best().program());
  COT_ASSIGN(report.after, judge.run(best, judges));
  FirstExamples few(examples, kNoiseExamples);
  COT_ASSIGN(const std::vector<double> ratios, signal_to_noise(search.best(), few, settings.target_elements));
  COT_ASSIGN(report.layers, rows_of(search.best(), ratios, prices));
  report.file = search.best().file();
  return report;
}

Result<FullQuantiseReport> quantise_by_ranges(const Model& model, const ActivationHistograms& ranges,
                                              uint32_t weight_bits) {
  COT_ASSIGN(const Model folded, folded_of(model));
  COT_ASSIGN(const Int8Choice choice, Int8Choice::create(folded, ranges, weight_bits));
  COT_ASSIGN(const Int8Program program, choice.program());
  FullQuantiseReport report;
  const std::vector<double> unknown(program.values.size(), std::numeric_limits<double>::quiet_NaN());
  COT_ASSIGN(report.layers, rows_of(choice, unknown, {}));
  report.file = choice.file();
  return report;
}

}  // namespace coterie
