#include "vertical/regression/product_dealing.h"

#include <string>
#include <utility>

namespace coterie::vertical {

Status check_product_shape(const RegressionShape& shape) {
  COT_TRY(check_regression_shape(shape));
  if (shape.columns() <= kProductColumnsMax) return {};
  return Error(ErrorCode::invalid_argument, "regression: a linear one has at most " +
                                                std::to_string(kProductColumnsMax) + " columns of both parties, not " +
                                                std::to_string(shape.columns()));
}

void add_product(std::vector<WideWord>& to, const std::vector<WideWord>& left, size_t left_width,
                 const std::vector<WideWord>& right, size_t right_width) {
  // to [left_width, right_width] += left [rows, left_width]^T right [rows, right_width]; row-major, modulo 2^128.
  const size_t rows = left.size() / left_width;
  for (size_t row = 0; row < rows; ++row) {
    const WideWord* const values = &right[row * right_width];
    for (size_t i = 0; i < left_width; ++i) {
      const WideWord factor = left[row * left_width + i];
      WideWord* const sums = &to[i * right_width];
      for (size_t j = 0; j < right_width; ++j) sums[j] += factor * values[j];
    }
  }
}

Result<ProductDealing> ProductDealing::make(const RegressionShape& shape, PartyIndex to, Secret<32> label_seed,
                                            Secret<32> feature_seed) {
  COT_TRY(check_product_shape(shape));
  return ProductDealing(shape, to, std::move(label_seed), std::move(feature_seed));
}

ProductDealing::ProductDealing(const RegressionShape& shape, PartyIndex to, Secret<32> label_seed,
                               Secret<32> feature_seed)
    : plan_(shape), to_(to), label_seed_(std::move(label_seed)), feature_seed_(std::move(feature_seed)) {}

std::optional<Message> ProductDealing::next() {
  if (!is_seed_sent_) {
    is_seed_sent_ = true;
    const auto seed = (to_ == 0 ? label_seed_ : feature_seed_).reveal();
    return Message{.peer = to_,
                   .kind = static_cast<uint16_t>(RegressionMessage::dealt_seed),
                   .payload = Bytes(seed.begin(), seed.end())};
  }
  // The label party draws all of its share; only the feature party has to be sent the rest.
  if (to_ == 0) return std::nullopt;
  if (product_.empty()) product_.resize(plan_.products());
  if (chunk_ < plan_.chunks()) {
    const uint32_t rows = plan_.rows_of(chunk_);
    add_product(product_, table_masks(label_seed_, chunk_, rows, plan_.label_width()), plan_.label_width(),
                table_masks(feature_seed_, chunk_, rows, plan_.feature_width()), plan_.feature_width());
    return word_message(to_, RegressionMessage::dealt_words, chunk_++, {});
  }
  if (said_ == product_.size()) return std::nullopt;
  if (said_ == 0) {
    const std::vector<WideWord> shares = product_shares(label_seed_, plan_);
    for (size_t i = 0; i < shares.size(); ++i) product_[i] -= shares[i];
  }
  const size_t count = std::min<size_t>(kProductWidesMax, product_.size() - said_);
  const std::vector<Word> words = narrow_words(std::span(product_).subspan(said_, count));
  said_ += count;
  return word_message(to_, RegressionMessage::dealt_words, chunk_++, {words});
}

}  // namespace coterie::vertical
