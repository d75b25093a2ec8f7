#include "vertical/regression/ridge.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>

#include "vertical/regression/dealing.h"
#include "vertical/regression/product_plan.h"
#include "vertical/regression/regression_party.h"
#include "vertical/regression/ridge_solver.h"

namespace coterie::vertical {
namespace {

constexpr size_t kNumbersMax = 1u << 16;  // doubles of a message

Status check_ridge_shape(const RegressionShape& shape) {
  COT_TRY(check_product_shape(shape));
  if (shape.rows >= kRidgeRowsPerColumn * (shape.columns() + 1)) return {};
  return Error(ErrorCode::refused,
               "regression: " + std::to_string(shape.rows) + " rows are too few for " +
                   std::to_string(shape.columns() + 1) +
                   " columns of both, the intercept and the label among them: " + "with fewer than " +
                   std::to_string(kRidgeRowsPerColumn) + " rows a column their products tell single rows",
               "rows_few");
}

// [row][column], standardised.
std::vector<double> table_of(const RegressionModel& scales, const RegressionColumns& columns, size_t rows) {
  std::vector<double> table(rows * columns.size());
  for (size_t c = 0; c < columns.size(); ++c) {
    for (size_t row = 0; row < rows; ++row) {
      table[row * columns.size() + c] = standardised(scales.columns[c], columns[c][row]);
    }
  }
  return table;
}

// The means over the rows of products of columns, [i * width + j].
std::vector<double> moments(const std::vector<double>& table, size_t width, size_t rows) {
  std::vector<double> sums(width * width);
  for (size_t row = 0; row < rows; ++row) {
    const double* const values = &table[row * width];
    for (size_t i = 0; i < width; ++i) {
      for (size_t j = 0; j <= i; ++j) sums[i * width + j] += values[i] * values[j];
    }
  }
  for (size_t i = 0; i < width; ++i) {
    for (size_t j = 0; j <= i; ++j) sums[j * width + i] = sums[i * width + j] /= static_cast<double>(rows);
  }
  return sums;
}

// The label as mean and deviation; labels that are all the same have 1, and nothing to explain.
WeightedColumn scale_labels(const std::vector<float>& labels) {
  WeightedColumn scale = scale_columns({labels}).columns[0];
  if (!std::isfinite(scale.deviation)) scale.deviation = 1;
  return scale;
}

// Columns, ones, the label: no value of a label is clipped, as its weights would not be the pooled ones.
std::vector<double> label_table(const RegressionModel& scales, const WeightedColumn& label,
                                const RegressionColumns& columns, const std::vector<float>& labels) {
  const size_t rows = labels.size(), width = columns.size() + 2;
  const std::vector<double> own = table_of(scales, columns, rows);
  std::vector<double> table(rows * width, 1);
  for (size_t row = 0; row < rows; ++row) {
    std::copy_n(&own[row * columns.size()], columns.size(), &table[row * width]);
    table[row * width + width - 1] = (labels[row] - label.mean) / label.deviation;
  }
  return table;
}

class RidgeParty : public RidgeTraining {
 public:
  RidgeParty(const RegressionShape& shape, PartyIndex party, RegressionModel scales, std::vector<double> table)
      : plan_(shape), party_(party), model_(std::move(scales)), table_(std::move(table)) {}

  Result<RegressionModel> model() const override { return model_; }

  Status receive(const Message& message) final {
    if (message.peer != awaits() || done()) {
      return Error(ErrorCode::malformed, "regression: party " + std::to_string(message.peer) +
                                             " sent something, expected " +
                                             (done() ? "nothing any more" : "party " + std::to_string(awaits())));
    }
    if (message.peer != kDealer) return hear(message);
    if (seed_) return hear_dealer(message);
    COT_ASSIGN(seed_, read_dealt_seed(message));
    return {};
  }

 protected:
  virtual Status hear(const Message& message) = 0;
  virtual Status hear_dealer(const Message& message) = 0;

  PartyIndex peer() const { return 1 - party_; }
  uint32_t own_width() const { return party_ == 0 ? plan_.label_width() : plan_.feature_width(); }
  uint32_t peer_width() const { return party_ == 0 ? plan_.feature_width() : plan_.label_width(); }
  bool has_said_columns() const { return said_ == plan_.chunks(); }
  bool has_heard_columns() const { return heard_ == plan_.chunks(); }

  // The next chunk of this party's table, less its mask.
  Message next_columns() {
    const uint32_t chunk = said_++, rows = plan_.rows_of(chunk);
    std::vector<WideWord> values = own_values(chunk);
    const std::vector<WideWord> masks = table_masks(*seed_, chunk, rows, own_width());
    for (size_t i = 0; i < values.size(); ++i) values[i] -= masks[i];
    return word_message(peer(), RegressionMessage::columns, chunk, {narrow_words(values)});
  }
  std::vector<WideWord> own_values(uint32_t chunk) const {
    const size_t first = size_t{plan_.first_row(chunk)} * own_width();
    std::vector<WideWord> values(size_t{plan_.rows_of(chunk)} * own_width());
    for (size_t i = 0; i < values.size(); ++i) values[i] = to_wide(table_[first + i]);
    return values;
  }
  Result<std::vector<WideWord>> read_columns(const Message& message) {
    COT_ASSIGN(const std::vector<Word> words, read_word_message(message, RegressionMessage::columns, heard_,
                                                                size_t{2} * plan_.rows_of(heard_) * peer_width()));
    ++heard_;
    return wide_words(words);
  }

  ProductPlan plan_;
  PartyIndex party_;
  RegressionModel model_;
  std::vector<double> table_;
  std::optional<Secret<32>> seed_;
  uint32_t said_ = 0, heard_ = 0;  // chunks
};

class LabelRidge final : public RidgeParty {
 public:
  LabelRidge(const RegressionShape& shape, const RidgeSettings& settings, RegressionModel scales, WeightedColumn label,
             std::vector<double> table)
      : RidgeParty(shape, 0, std::move(scales), std::move(table)),
        settings_(settings),
        label_(label),
        product_(plan_.products()) {}

  std::optional<Message> next() override {
    if (!seed_) return std::nullopt;
    if (!has_said_columns()) return next_columns();
    if (!weights_ || is_over_) return std::nullopt;
    is_over_ = true;
    std::vector<Word> words;
    if (*weights_) {
      const auto first = (*weights_)->end() - static_cast<ptrdiff_t>(plan_.feature_width());
      std::transform(first, (*weights_)->end(), std::back_inserter(words),
                     [this](double weight) { return std::bit_cast<Word>(weight * label_.deviation); });
    }
    return word_message(peer(), *weights_ ? RegressionMessage::feature_weights : RegressionMessage::stop, 0, {words});
  }
  bool done() const override { return is_over_; }
  PartyIndex awaits() const override { return seed_ ? peer() : kDealer; }
  Result<RegressionModel> model() const override {
    if (!*weights_) return weights_->error();
    return model_;
  }

 private:
  Status hear_dealer(const Message& message) override {
    return expect_regression_message(message, RegressionMessage::dealt_seed);
  }

  Status hear(const Message& message) override {
    if (!has_heard_columns()) {
      const uint32_t chunk = heard_;
      COT_ASSIGN(const std::vector<WideWord> masked, read_columns(message));
      // With the label party's table A and mask U, the peer's B and V: A^T B = A^T (B - V) + (A - U)^T V + U^T V. This
      // party computes the first term, the peer the second, and the dealer gives shares of the third.
      add_product(product_, own_values(chunk), own_width(), masked, peer_width());
      if (!has_heard_columns()) return {};
      const std::vector<WideWord> shares = product_shares(*seed_, plan_);
      for (size_t i = 0; i < shares.size(); ++i) product_[i] += shares[i];
      return {};
    }
    if (products_ < product_.size()) {
      const size_t count = std::min<size_t>(kProductWidesMax, product_.size() - products_);
      COT_ASSIGN(const std::vector<Word> words,
                 read_word_message(message, RegressionMessage::products, message_++, 2 * count));
      const std::vector<WideWord> theirs = wide_words(words);
      for (size_t i = 0; i < count; ++i) product_[products_ + i] += theirs[i];
      products_ += count;
      return {};
    }
    if (weights_) return Error(ErrorCode::malformed, "regression: something came behind the last message");
    const size_t all = size_t{peer_width()} * peer_width(), count = std::min(kNumbersMax, all - moments_.size());
    COT_ASSIGN(const std::vector<Word> words,
               read_word_message(message, RegressionMessage::moments, message_++, count));
    for (const Word word : words) {
      const auto number = std::bit_cast<double>(word);
      // Columns have deviation 1 at most, and so their products.
      if (!(std::abs(number) <= 1.0 + 1e-6)) {
        return Error(ErrorCode::malformed, "regression: a product of columns came that is none: above 1, or no number");
      }
      moments_.push_back(number);
    }
    if (moments_.size() == all) solve();
    return {};
  }

  void solve() {
    const size_t own = plan_.label_width() - 1, theirs = plan_.feature_width(), size = own + theirs;
    const std::vector<double> all = moments(table_, own + 1, plan_.rows());
    // [own columns and the intercept | the peer's columns], row-major; only the lower half is read.
    std::vector<double> matrix(size * size), right(size);
    for (size_t i = 0; i < own; ++i) {
      for (size_t j = 0; j < own; ++j) matrix[i * size + j] = all[i * (own + 1) + j];
      right[i] = all[i * (own + 1) + own];
    }
    const auto cross = [&](size_t i, size_t j) { return from_wide_product(product_[i * theirs + j]) / plan_.rows(); };
    for (size_t j = 0; j < theirs; ++j) {
      for (size_t i = 0; i < own; ++i) matrix[(own + j) * size + i] = cross(i, j);
      for (size_t k = 0; k < theirs; ++k) matrix[(own + j) * size + own + k] = moments_[j * theirs + k];
      right[own + j] = cross(own, j);
    }
    weights_ = solve_ridge(std::move(matrix), std::move(right), settings_.lambda, own - 1);
    if (!*weights_) return;
    const std::vector<double>& weights = **weights_;
    for (size_t c = 0; c + 1 < own; ++c) model_.columns[c].weight = weights[c] * label_.deviation;
    model_.intercept = label_.mean + weights[own - 1] * label_.deviation;
  }

  RidgeSettings settings_;
  WeightedColumn label_;
  std::vector<WideWord> product_;  // this party's share, then the sum of both
  size_t products_ = 0;
  std::vector<double> moments_;
  uint32_t message_ = 0;
  std::optional<Result<std::vector<double>>> weights_;
  bool is_over_ = false;
};

class FeatureRidge final : public RidgeParty {
 public:
  FeatureRidge(const RegressionShape& shape, RegressionModel scales, std::vector<double> table)
      : RidgeParty(shape, 1, std::move(scales), std::move(table)), product_(plan_.products()) {}

  std::optional<Message> next() override {
    if (!has_heard_columns() || !is_dealt()) return std::nullopt;
    if (!has_said_columns()) return next_columns();
    if (products_ < product_.size()) {
      const size_t count = std::min<size_t>(kProductWidesMax, product_.size() - products_);
      const std::vector<Word> words = narrow_words(std::span(product_).subspan(products_, count));
      products_ += count;
      return word_message(peer(), RegressionMessage::products, message_++, {words});
    }
    if (own_moments_.empty()) own_moments_ = moments(table_, own_width(), plan_.rows());
    if (moments_ == own_moments_.size()) return std::nullopt;
    std::vector<Word> words;
    for (; moments_ < own_moments_.size() && words.size() < kNumbersMax; ++moments_) {
      words.push_back(std::bit_cast<Word>(own_moments_[moments_]));
    }
    return word_message(peer(), RegressionMessage::moments, message_++, {words});
  }
  bool done() const override { return is_over_; }
  PartyIndex awaits() const override { return is_dealt() ? peer() : kDealer; }

 private:
  bool is_dealt() const { return seed_ && dealt_ == product_.size(); }

  // An empty message a chunk, then words.
  Status hear_dealer(const Message& message) override {
    const bool is_empty = dealt_messages_ < plan_.chunks();
    const size_t count = is_empty ? 0 : std::min<size_t>(kProductWidesMax, product_.size() - dealt_);
    COT_ASSIGN(const std::vector<Word> words,
               read_word_message(message, RegressionMessage::dealt_words, dealt_messages_++, 2 * count));
    const std::vector<WideWord> shares = wide_words(words);
    std::ranges::copy(shares, product_.begin() + static_cast<ptrdiff_t>(dealt_));
    dealt_ += count;
    return {};
  }

  Status hear(const Message& message) override {
    if (!has_heard_columns()) {
      const uint32_t chunk = heard_;
      COT_ASSIGN(const std::vector<WideWord> masked, read_columns(message));
      // (A - U)^T V, the second term of what the label party adds up.
      add_product(product_, masked, peer_width(), table_masks(*seed_, chunk, plan_.rows_of(chunk), own_width()),
                  own_width());
      return {};
    }
    if (message.kind == static_cast<uint16_t>(RegressionMessage::stop)) {
      COT_TRY(read_word_message(message, RegressionMessage::stop, 0, 0));
      return Error(ErrorCode::refused,
                   "regression: some columns of both parties are sums of others; raise lambda, or leave columns out",
                   "columns_dependent");
    }
    COT_ASSIGN(const std::vector<Word> words,
               read_word_message(message, RegressionMessage::feature_weights, 0, own_width()));
    for (size_t c = 0; c < words.size(); ++c) {
      const auto weight = std::bit_cast<double>(words[c]);
      if (!std::isfinite(weight)) return Error(ErrorCode::malformed, "regression: a weight came that is no number");
      model_.columns[c].weight = weight;
    }
    is_over_ = true;
    return {};
  }

  std::vector<WideWord> product_;  // this party's share: what was dealt, and its own part
  size_t dealt_ = 0, products_ = 0, moments_ = 0;
  uint32_t dealt_messages_ = 0, message_ = 0;
  std::vector<double> own_moments_;
  bool is_over_ = false;
};

}  // namespace

Status check_ridge_settings(const RidgeSettings& settings) {
  if (settings.lambda >= 0 && settings.lambda <= kRidgeLambdaMax) return {};
  return Error(ErrorCode::invalid_argument, "linear: lambda is " + std::to_string(settings.lambda) +
                                                ", expected 0 to " + std::to_string(kRidgeLambdaMax));
}

RegressionSettings ridge_rounds() { return {.epochs = 1, .batch = kRegressionBatchMax}; }

Result<std::unique_ptr<RidgeTraining>> start_label_ridge(const RegressionShape& shape, const RidgeSettings& settings,
                                                         const RegressionColumns& columns,
                                                         const std::vector<float>& labels) {
  COT_TRY(check_ridge_settings(settings));
  COT_TRY(check_regression_columns(shape, columns, shape.label_columns - 1));
  COT_TRY(check_ridge_shape(shape));
  if (labels.size() != shape.rows || !std::ranges::all_of(labels, [](float label) { return std::isfinite(label); })) {
    return Error(ErrorCode::invalid_argument,
                 "regression: expected a finite label for each of " + std::to_string(shape.rows) + " rows");
  }
  RegressionModel scales = scale_columns(columns);
  const WeightedColumn label = scale_labels(labels);
  std::vector<double> table = label_table(scales, label, columns, labels);
  return std::unique_ptr<RidgeTraining>(
      std::make_unique<LabelRidge>(shape, settings, std::move(scales), label, std::move(table)));
}

Result<std::unique_ptr<RidgeTraining>> start_feature_ridge(const RegressionShape& shape,
                                                           const RegressionColumns& columns) {
  COT_TRY(check_regression_columns(shape, columns, shape.feature_columns));
  COT_TRY(check_ridge_shape(shape));
  RegressionModel scales = scale_columns(columns);
  std::vector<double> table = table_of(scales, columns, shape.rows);
  return std::unique_ptr<RidgeTraining>(std::make_unique<FeatureRidge>(shape, std::move(scales), std::move(table)));
}

Result<RegressionModel> pooled_ridge(const RegressionColumns& columns, const std::vector<float>& labels,
                                     const RidgeSettings& settings) {
  RegressionModel model = scale_columns(columns);
  const WeightedColumn label = scale_labels(labels);
  const size_t size = columns.size() + 1;
  const std::vector<double> all = moments(label_table(model, label, columns, labels), size + 1, labels.size());
  std::vector<double> matrix(size * size), right(size);
  for (size_t i = 0; i < size; ++i) {
    for (size_t j = 0; j < size; ++j) matrix[i * size + j] = all[i * (size + 1) + j];
    right[i] = all[i * (size + 1) + size];
  }
  COT_ASSIGN(const std::vector<double> weights,
             solve_ridge(std::move(matrix), std::move(right), settings.lambda, size - 1));
  for (size_t c = 0; c + 1 < size; ++c) model.columns[c].weight = weights[c] * label.deviation;
  model.intercept = label.mean + weights[size - 1] * label.deviation;
  return model;
}

}  // namespace coterie::vertical
