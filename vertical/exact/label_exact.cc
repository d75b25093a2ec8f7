#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "vertical/exact/exact_party.h"
#include "vertical/exact/masked_sums.h"

namespace coterie::vertical {
namespace {

PlainNumber plain_of(int128 number) { return {static_cast<uint64_t>(number), static_cast<uint64_t>(number >> 64)}; }

class LabelMachine final : public ExactParty {
 public:
  LabelMachine(ExactRun of, const std::vector<std::vector<float>>& columns, std::vector<float> labels,
               std::unique_ptr<AdditiveKey> key)
      : ExactParty(std::move(of), columns, 1), columns_(columns), labels_(std::move(labels)), key_(std::move(key)) {
    say(write_exact_hello(kExactFeatureParty, {.settings = run().settings,
                                               .rows = run().rows,
                                               .label_columns = static_cast<uint32_t>(columns.size()) + 1,
                                               .key = key_->public_key()}));
  }

  Status receive(const Message& message) override {
    if (message.peer != kExactFeatureParty || steps_done() == plan().steps()) {
      return exact_malformed(message, ", expected nothing of it now");
    }
    if (feature_columns_ == 0) return hear_ready(message);
    return is_asked_ ? hear_masked(message) : hear_margins(message);
  }

  RegressionModel model() const override {
    RegressionModel model = scales();
    for (size_t c = 0; c < model.columns.size(); ++c) model.columns[c].weight = weights()[c];
    model.intercept = weights().back();
    return model;
  }

 private:
  Status hear_ready(const Message& message) {
    COT_TRY(expect_exact(message, ExactMessage::ready, sizeof(uint32_t)));
    WireReader reader(message.payload);
    const uint32_t columns = reader.u32();
    if (columns == 0 || columns > kRegressionColumnsMax) {
      return exact_malformed(message, " of " + std::to_string(columns) + " columns, expected 1 to " +
                                          std::to_string(kRegressionColumnsMax));
    }
    // Before anything is said that follows from a label, whatever the feature party has checked.
    COT_TRY(check_exact_batches(run().rows, static_cast<uint32_t>(columns_.size()) + 1, columns, run().settings));
    feature_columns_ = columns;
    return {};
  }

  Status hear_margins(const Message& message) {
    COT_ASSIGN(WireReader reader, read_exact_step(message, ExactMessage::margins, steps_done(),
                                                  kExactStepBytes + rows() * sizeof(double)));
    std::vector<double> gradient(weights().size());
    std::vector<PlainNumber> numbers;
    int128 sum = 0;
    for (uint32_t i = 0; i < rows(); ++i) {
      const double theirs = reader.f64();
      if (!std::isfinite(theirs)) {
        return exact_malformed(message, " in which row " + std::to_string(i) + " is no number");
      }
      const uint32_t row = first_row() + i;
      double margin = weights().back() + theirs;
      for (size_t c = 0; c < columns_.size(); ++c) margin += weights()[c] * value(c, row);
      const double residual = sigmoid(margin) - double{labels_[row]};
      if (!(std::abs(residual) <= 1)) return exact_diverged(steps_done());
      const auto whole = static_cast<int64_t>(std::llround(std::ldexp(residual, kExactResidualBits)));
      // What the own gradient is of, too: both parties descend on the same residuals.
      const double rounded = std::ldexp(static_cast<double>(whole), -kExactResidualBits);
      for (size_t c = 0; c < columns_.size(); ++c) gradient[c] += rounded * value(c, row);
      gradient.back() += rounded;
      numbers.push_back(plain_of(whole));
      sum += whole;
    }
    numbers.push_back(plain_of(-sum));
    for (size_t w = 0; w < gradient.size(); ++w) descend(w, gradient[w] / rows(), w + 1 == gradient.size());
    if (!weights_are_finite()) return exact_diverged(steps_done());
    margins_are_said(message.payload);
    say_residuals(numbers);
    is_asked_ = true;
    return {};
  }

  void say_residuals(const std::vector<PlainNumber>& numbers) {
    const size_t bytes = key_->ciphertext_bytes(), many = exact_ciphertexts_of_message(bytes);
    for (size_t first = 0; first < numbers.size(); first += many) {
      const auto some = std::span(numbers).subspan(first, std::min(many, numbers.size() - first));
      Bytes ciphertexts(some.size() * bytes);
      key_->encrypt_each(some, ciphertexts);
      WireWriter writer;
      writer.u32(steps_done());
      writer.u32(static_cast<uint32_t>(first));
      writer.raw(ciphertexts);
      say(exact_message(kExactFeatureParty, ExactMessage::residuals, writer));
    }
  }

  Status hear_masked(const Message& message) {
    const size_t slots = masked_sums_of_plaintext(key_->plaintext_bits());
    const size_t count = (feature_columns_ + slots - 1) / slots;
    COT_ASSIGN(WireReader reader, read_exact_step(message, ExactMessage::masked, steps_done(),
                                                  kExactStepBytes + count * key_->ciphertext_bytes()));
    COT_ASSIGN(const std::vector<PlainNumber> numbers, key_->decrypt(reader.rest()));
    WireWriter writer;
    writer.u32(steps_done());
    for (size_t i = 0; i < count; ++i) {
      COT_ASSIGN(const std::vector<MaskedSum> sums,
                 unpack_masked(numbers[i], std::min(slots, feature_columns_ - i * slots)));
      for (const MaskedSum& sum : sums) writer.raw(sum);
    }
    say(exact_message(kExactFeatureParty, ExactMessage::sums, writer));
    is_asked_ = false;
    step_is_done();
    return {};
  }

  double value(size_t column, uint32_t row) const {
    return standardised(scales().columns[column], columns_[column][row]);
  }

  std::vector<std::vector<float>> columns_;
  std::vector<float> labels_;
  std::unique_ptr<AdditiveKey> key_;
  uint32_t feature_columns_ = 0;  // 0: not heard yet
  bool is_asked_ = false;         // residuals are said, the feature party's sums are still to come
};

}  // namespace

Result<std::unique_ptr<ExactTraining>> start_label_exact(ExactRun run, const std::vector<std::vector<float>>& columns,
                                                         std::vector<float> labels, std::unique_ptr<AdditiveKey> key) {
  COT_TRY(check_exact_batches(run.rows, static_cast<uint32_t>(columns.size()) + 1, 1, run.settings));
  COT_TRY(check_exact_inputs(run, columns, 1));
  const auto is_label = [](float label) { return label == 0 || label == 1; };
  if (labels.size() != run.rows || !std::ranges::all_of(labels, is_label)) {
    return Error(ErrorCode::invalid_argument,
                 "regression: expected a label for each of " + std::to_string(run.rows) + " rows, 0 or 1");
  }
  return std::unique_ptr<ExactTraining>(
      std::make_unique<LabelMachine>(std::move(run), columns, std::move(labels), std::move(key)));
}

}  // namespace coterie::vertical
