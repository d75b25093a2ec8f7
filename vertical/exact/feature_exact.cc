#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "vertical/exact/exact_party.h"
#include "vertical/exact/masked_sums.h"
#include "vertical/exact/residual_sums.h"

namespace coterie::vertical {
namespace {

// [column][row], at 2^kExactColumnBits.
std::vector<std::vector<int32_t>> whole_columns(const RegressionModel& scales,
                                                const std::vector<std::vector<float>>& columns) {
  std::vector<std::vector<int32_t>> whole;
  for (size_t c = 0; c < columns.size(); ++c) {
    auto& values = whole.emplace_back();
    for (const float value : columns[c]) {
      const double scaled = std::ldexp(standardised(scales.columns[c], value), kExactColumnBits);
      values.push_back(static_cast<int32_t>(std::lround(scaled)));
    }
  }
  return whole;
}

class FeatureMachine final : public ExactParty {
 public:
  FeatureMachine(ExactRun of, const std::vector<std::vector<float>>& columns, Secret<32> seed,
                 ExactCipherMaker make_cipher)
      : ExactParty(std::move(of), columns, 0),
        columns_(whole_columns(scales(), columns)),
        seed_(std::move(seed)),
        make_cipher_(make_cipher) {}

  Status receive(const Message& message) override {
    if (message.peer != kExactLabelParty || steps_done() == plan().steps()) {
      return exact_malformed(message, ", expected nothing of it now");
    }
    if (!cipher_) return hear_hello(message);
    return masks_.empty() ? hear_residuals(message) : hear_sums(message);
  }

  RegressionModel model() const override {
    RegressionModel model = scales();
    for (size_t c = 0; c < model.columns.size(); ++c) model.columns[c].weight = weights()[c];
    return model;
  }

 private:
  Status hear_hello(const Message& message) {
    COT_ASSIGN(const ExactHello hello, read_exact_hello(message));
    if (hello.settings != run().settings || hello.rows != run().rows) {
      return exact_malformed(message, " of other settings, or of " + std::to_string(hello.rows) +
                                          " rows, expected this party's " + std::to_string(run().rows));
    }
    COT_TRY(
        check_exact_batches(hello.rows, hello.label_columns, static_cast<uint32_t>(columns_.size()), run().settings));
    COT_ASSIGN(cipher_, make_cipher_(hello.key, Secret<32>(seed_.reveal())));
    WireWriter writer;
    writer.u32(static_cast<uint32_t>(columns_.size()));
    say(exact_message(kExactLabelParty, ExactMessage::ready, writer));
    say_margins();
    return {};
  }

  void say_margins() {
    WireWriter writer;
    writer.u32(steps_done());
    for (uint32_t row = first_row(); row < first_row() + rows(); ++row) {
      double margin = 0;
      for (size_t c = 0; c < columns_.size(); ++c) {
        margin += weights()[c] * std::ldexp(static_cast<double>(columns_[c][row]), -kExactColumnBits);
      }
      writer.f64(margin);
    }
    Message message = exact_message(kExactLabelParty, ExactMessage::margins, writer);
    margins_are_said(message.payload);
    say(std::move(message));
  }

  Status hear_residuals(const Message& message) {
    const size_t bytes = cipher_->ciphertext_bytes(), all = size_t{rows()} + 1;
    const size_t count = std::min(exact_ciphertexts_of_message(bytes), all - residuals_.size());
    COT_ASSIGN(WireReader reader, read_exact_step(message, ExactMessage::residuals, steps_done(),
                                                  kExactResidualHeaderBytes + count * bytes));
    if (const uint32_t first = reader.u32(); first != residuals_.size()) {
      return exact_malformed(message,
                             " from row " + std::to_string(first) + ", expected " + std::to_string(residuals_.size()));
    }
    COT_ASSIGN(std::vector<CiphertextPtr> read, cipher_->read(reader.rest()));
    for (CiphertextPtr& one : read) residuals_.push_back(std::move(one));
    if (residuals_.size() == all) say_masked();
    return {};
  }

  void say_masked() {
    CiphertextList residuals;
    for (size_t i = 0; i < rows(); ++i) residuals.push_back(residuals_[i].get());
    std::vector<std::span<const int32_t>> of_batch;
    for (const auto& column : columns_) of_batch.push_back(std::span(column).subspan(first_row(), rows()));
    const std::vector<CiphertextPtr> sums = residual_sums(*cipher_, residuals, *residuals_.back(), of_batch);
    masks_ = draw_masks(seed_, steps_done(), columns_.size());
    const size_t slots = masked_sums_of_plaintext(cipher_->plaintext_bits());
    const size_t count = (sums.size() + slots - 1) / slots;
    std::vector<CiphertextPtr> packed;
    std::vector<Ciphertext*> all;
    for (size_t i = 0; i < count; ++i) {
      packed.push_back(cipher_->zero());
      all.push_back(packed.back().get());
    }
    // From the highest slot down, all plaintexts at once.
    for (size_t slot = slots; slot-- > 0;) {
      std::vector<CiphertextAddition> additions;
      for (size_t i = 0; i < count; ++i) {
        const size_t column = i * slots + slot;
        if (column < sums.size()) additions.push_back({all[i], sums[column].get()});
      }
      if (additions.empty()) continue;
      cipher_->add_each(additions);
      if (slot > 0) cipher_->shift_left_each(all, kMaskedSumBits);
    }
    for (size_t i = 0; i < count; ++i) {
      const size_t of_one = std::min(slots, sums.size() - i * slots);
      cipher_->add_number(*all[i], pack_masked(std::span(masks_).subspan(i * slots, of_one)));
    }
    // Whoever has encrypted the terms could tell from their randomness which ones were added.
    cipher_->rerandomize_each(all);
    const size_t bytes = cipher_->ciphertext_bytes();
    Bytes ciphertexts(count * bytes);
    for (size_t i = 0; i < count; ++i) cipher_->write(*all[i], std::span(ciphertexts).subspan(i * bytes, bytes));
    WireWriter writer;
    writer.u32(steps_done());
    writer.raw(ciphertexts);
    say(exact_message(kExactLabelParty, ExactMessage::masked, writer));
    residuals_.clear();
  }

  Status hear_sums(const Message& message) {
    COT_ASSIGN(WireReader reader, read_exact_step(message, ExactMessage::sums, steps_done(),
                                                  kExactStepBytes + columns_.size() * kMaskedSumBytes));
    for (size_t c = 0; c < columns_.size(); ++c) {
      MaskedSum masked;
      std::ranges::copy(reader.raw(kMaskedSumBytes), masked.begin());
      COT_ASSIGN(const int128 sum, unmask(masked, masks_[c]));
      const double gradient = std::ldexp(static_cast<double>(sum), -kExactColumnBits - kExactResidualBits);
      descend(c, gradient / rows(), false);
    }
    if (!weights_are_finite()) return exact_diverged(steps_done());
    masks_.clear();
    step_is_done();
    if (steps_done() < plan().steps()) say_margins();
    return {};
  }

  std::vector<std::vector<int32_t>> columns_;
  Secret<32> seed_;
  ExactCipherMaker make_cipher_;
  std::unique_ptr<AdditiveCipher> cipher_;  // none: the label party has said nothing yet
  std::vector<CiphertextPtr> residuals_;    // of the step, so far
  std::vector<MaskedSum> masks_;            // of the step; none: residuals are still to come
};

}  // namespace

Result<std::unique_ptr<ExactTraining>> start_feature_exact(ExactRun run, const std::vector<std::vector<float>>& columns,
                                                           Secret<32> seed, ExactCipherMaker make_cipher) {
  COT_TRY(check_exact_batches(run.rows, 1, static_cast<uint32_t>(columns.size()), run.settings));
  COT_TRY(check_exact_inputs(run, columns, 0));
  return std::unique_ptr<ExactTraining>(
      std::make_unique<FeatureMachine>(std::move(run), columns, std::move(seed), make_cipher));
}

}  // namespace coterie::vertical
