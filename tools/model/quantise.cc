#include "tools/model/quantise.h"

#include <algorithm>

#include "base/text/name_pattern.h"
#include "device_sdk/runtime/loss_heads.h"
#include "proto/codec/stored_integers.h"
#include "tools/model/equalise.h"
#include "tools/model/first_examples.h"
#include "tools/model/rounded_model.h"
#include "tools/model/width_search.h"

namespace coterie {
namespace {

constexpr uint32_t kBatch = 64;
constexpr size_t kRemedies = 3;  // of a layer: its rule, compensated integers, a corrected bias
// With more bits there is nothing to make up for that the loss would show.
constexpr uint32_t kCompensatedBitsMax = 6;

Result<std::vector<Int8WeightAxis>> weights_of(const Model& model, const std::vector<std::string>& keep) {
  std::vector<Int8WeightAxis> weights = int8_weights(model.graph());
  for (const std::string& pattern : keep) {
    const auto is_kept = [&](const Int8WeightAxis& weight) {
      return name_matches(pattern, model.graph().tensors[weight.tensor].name);
    };
    if (std::ranges::none_of(int8_weights(model.graph()), is_kept)) {
      return Error(ErrorCode::invalid_argument, "--keep " + pattern + " is of no weight of the model");
    }
    std::erase_if(weights, is_kept);
  }
  if (weights.empty())
    return Error(ErrorCode::invalid_argument, "has no weight of at least 64 elements to store as integers");
  return weights;
}

// One quantisation, with what it is judged by.
class Quantising {
 public:
  Quantising(const Model& model, const QuantiseSettings& settings, Evaluator evaluator, ExampleSource& calibration)
      : model_(model),
        settings_(settings),
        evaluator_(std::move(evaluator)),
        examples_(calibration, settings.calibration_examples) {}

  Result<QuantiseReport> run(const std::vector<Int8WeightAxis>& weights, ExampleSource& judges) {
    const std::vector<float> original(model_.parameters().begin(), model_.parameters().end());
    COT_ASSIGN(report_.before, evaluator_.run(original, judges));
    report_.heads_before = evaluator_.heads();
    COT_ASSIGN(report_.calibration_exact, loss(original));
    const WeightForm even{.bits = settings_.target_ratio ? even_width(*settings_.target_ratio, kStoredBitsMax)
                                                         : settings_.weight_bits};
    RoundedModel best(model_, original, weights, even);
    COT_ASSIGN(report_.calibration_plain, loss(best.rounded()));
    report_.calibration_loss = report_.calibration_plain;
    COT_TRY(try_equalised(weights, even, best));
    COT_TRY(learn_means(best, examples_, settings_.target_elements));
    if (settings_.target_ratio) COT_TRY(find_widths(best));
    COT_TRY(try_rules(best));
    COT_TRY(try_compensated(best));
    COT_TRY(try_biases(best));
    COT_ASSIGN(report_.after, evaluator_.run(best.rounded(), judges));
    report_.heads_after = evaluator_.heads();
    for (size_t i = 0; i < best.size(); ++i) report_.layers.push_back(row_of(best, i));
    COT_ASSIGN(report_.file, best.file());
    return std::move(report_);
  }

 private:
  Result<double> loss(const std::vector<float>& parameters) {
    COT_ASSIGN(const Evaluation evaluation, evaluator_.run(parameters, examples_));
    return evaluation.loss_mean;
  }
  // Whether the loss of `best` is smaller than the one that was kept so far; then it is kept. A loss that is no number
  // is never smaller than another.
  Result<bool> has_gained(const RoundedModel& best) {
    COT_ASSIGN(const double found, loss(best.rounded()));
    if (!(found < report_.calibration_loss)) return false;
    report_.calibration_loss = found;
    return true;
  }

  Status try_equalised(const std::vector<Int8WeightAxis>& weights, const WeightForm& even, RoundedModel& best) {
    std::vector<float> flat = equalised(model_);
    if (flat == best.exact()) return {};
    RoundedModel attempt(model_, std::move(flat), weights, even);
    COT_ASSIGN(report_.is_equalised, has_gained(attempt));
    if (report_.is_equalised) best = std::move(attempt);
    return {};
  }

  Status find_widths(RoundedModel& best) {
    COT_ASSIGN(const double exact, loss(best.exact()));
    COT_ASSIGN(WidthsFound found,
               search_widths({.loss = [&](const std::vector<float>& parameters) { return loss(parameters); },
                              .loss_exact = exact,
                              .file_bytes_max = smaller_bytes(model_.file().size(), *settings_.target_ratio),
                              .progress = settings_.progress},
                             best));
    report_.calibration_loss = found.loss;
    prices_ = std::move(found.prices);
    RoundedModel plain = best;
    for (size_t i = 0; i < plain.size(); ++i) plain.change(i, {.bits = plain.form(i).bits});
    COT_ASSIGN(report_.calibration_plain, loss(plain.rounded()));
    return {};
  }

  void tell(size_t tried, size_t in_all) const {
    if (settings_.progress) settings_.progress(tried, in_all);
  }

  // Weight i in another form, if that is better.
  Status try_form(RoundedModel& best, size_t i, const WeightForm& form) {
    RoundedModel::Weight before = best.change(i, form);
    COT_ASSIGN(const bool is_better, has_gained(best));
    if (!is_better) best.restore(i, std::move(before));
    return {};
  }

  // All at once first: with few bits the gain of one layer drowns in what the others lose.
  Status try_rules(RoundedModel& best) {
    if (best.size() > 1) {
      RoundedModel all = best;
      for (size_t i = 0; i < all.size(); ++i) {
        WeightForm form = all.form(i);
        form.rule = RangeRule::least_mse;
        all.change(i, form);
      }
      COT_ASSIGN(const bool have_all_gained, has_gained(all));
      if (have_all_gained) best = std::move(all);
    }
    for (size_t i = 0; i < best.size(); ++i) {
      tell(i, kRemedies * best.size());
      WeightForm form = best.form(i);
      form.rule = form.rule == RangeRule::min_max ? RangeRule::least_mse : RangeRule::min_max;
      COT_TRY(try_form(best, i, form));
    }
    return {};
  }

  // The weights that one layer reads, with that layer, in the order in which they are computed.
  std::vector<std::pair<const OpInfo*, size_t>> in_order(const RoundedModel& best) const {
    std::vector<std::pair<const OpInfo*, size_t>> weights;
    for (size_t i = 0; i < best.size(); ++i) {
      const OpInfo* const op = sole_reader(model_.graph(), best.tensor(i));
      if (op != nullptr) weights.emplace_back(op, i);
    }
    std::ranges::sort(weights);
    return weights;
  }

  // All at once first, as for the rules; then each as it was, or as it would be.
  Status try_compensated(RoundedModel& best) {
    RoundedModel all = best;
    COT_ASSIGN(const Model exact, Model::load(model_.file_with(best.exact())));
    std::vector<size_t> tried;
    for (const auto& [op, i] : in_order(best)) {
      tell(best.size() + i, kRemedies * best.size());
      if (best.form(i).bits > kCompensatedBitsMax) continue;
      // What layers before it make of their integers is what this one reads.
      COT_ASSIGN(const Model rounded, Model::load(model_.file_with(all.rounded())));
      COT_ASSIGN(const auto moments, input_moments(exact, rounded, *op, examples_, settings_.target_elements));
      if (!moments) continue;
      all.compensate(i, *moments);
      tried.push_back(i);
    }
    if (tried.empty()) return {};
    RoundedModel without = best;
    COT_ASSIGN(const bool have_all_gained, has_gained(all));
    if (have_all_gained) best = all;
    for (const size_t i : tried) {
      const RoundedModel& other = best.form(i).is_compensated ? without : all;
      RoundedModel::Weight before = best.weight(i);
      best.restore(i, other.weight(i));
      COT_ASSIGN(const bool is_better, has_gained(best));
      if (!is_better) best.restore(i, std::move(before));
    }
    return {};
  }

  // A bias that is corrected already is tried without that.
  Status try_biases(RoundedModel& best) {
    for (size_t i = 0; i < best.size(); ++i) {
      tell(2 * best.size() + i, kRemedies * best.size());
      if (!best.can_correct(i)) continue;
      WeightForm form = best.form(i);
      form.is_bias_corrected = !form.is_bias_corrected;
      COT_TRY(try_form(best, i, form));
    }
    return {};
  }

  QuantisedLayer row_of(const RoundedModel& best, size_t i) const {
    const uint32_t bits = best.form(i).bits;
    QuantisedLayer row{.name = best.name(i),
                       .shape = best.shape(i),
                       .form = best.form(i),
                       .bytes = best.stored_bytes(i, bits) + best.scale_bytes(i),
                       .loss = best.loss(i),
                       .price = std::nullopt};
    if (!prices_.empty()) row.price = std::ranges::find(prices_[i], bits, &WidthPrice::bits)->loss;
    return row;
  }

  const Model& model_;
  const QuantiseSettings& settings_;
  Evaluator evaluator_;
  FirstExamples examples_;
  QuantiseReport report_;
  std::vector<std::vector<WidthPrice>> prices_;
};

}  // namespace

Result<QuantiseReport> quantise(const Model& model, ExampleSource& calibration, ExampleSource& judges,
                                const QuantiseSettings& settings) {
  COT_ASSIGN(const std::vector<Int8WeightAxis> weights, weights_of(model, settings.keep));
  COT_ASSIGN(Evaluator evaluator,
             Evaluator::create(model, settings.loss, kBatch, limits::kArenaBytesMax, settings.threads));
  return Quantising(model, settings, std::move(evaluator), calibration).run(weights, judges);
}

}  // namespace coterie
