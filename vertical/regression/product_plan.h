// ProductPlan: how one product A'B of two parties' tables goes over the wire, A with the label party's columns, an
// intercept of ones and the label, B with the feature party's columns.
//
// The dealer has masks U of A and V of B, made of the parties' seeds, and shares U'V: the label party's share W is of
// its seed, and the feature party hears U'V - W. The parties say A - U and B - V. Then
//
//   A'B = A'(B - V) + W  +  (A - U)'V + (U'V - W)
//
// has a part that the label party computes, and one that the feature party does.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "secure/crypto/secret.h"
#include "vertical/regression/mask_stream.h"
#include "vertical/regression/wide_word.h"

namespace coterie::vertical {

constexpr uint32_t kProductColumnsMax = 1024;    // of both
constexpr uint32_t kProductWidesMax = 1u << 15;  // of a message

class ProductPlan {
 public:
  // A shape that is checked; its label_columns have the intercept, not the label.
  explicit ProductPlan(const RegressionShape& shape) : shape_(shape) {}

  uint32_t rows() const { return shape_.rows; }
  uint32_t label_width() const { return shape_.label_columns + 1; }
  uint32_t feature_width() const { return shape_.feature_columns; }
  size_t products() const { return size_t{label_width()} * feature_width(); }
  // Rows go in chunks, the same for both tables.
  uint32_t chunk_rows() const { return kProductWidesMax / std::max(label_width(), feature_width()); }
  uint32_t chunks() const { return (rows() + chunk_rows() - 1) / chunk_rows(); }
  uint32_t first_row(uint32_t chunk) const { return chunk * chunk_rows(); }
  uint32_t rows_of(uint32_t chunk) const { return std::min(chunk_rows(), rows() - first_row(chunk)); }

 private:
  RegressionShape shape_;
};

// invalid_argument: as check_regression_shape(), and for more columns than kProductColumnsMax.
Status check_product_shape(const RegressionShape& shape);

// The masks of a chunk of a party's table, [row][column].
inline std::vector<WideWord> table_masks(const Secret<32>& seed, uint32_t chunk, uint32_t rows, uint32_t width) {
  return wide_words(mask_words(seed, MaskUse::columns, 0, chunk, size_t{2} * rows * width));
}
// The label party's share W of U'V.
inline std::vector<WideWord> product_shares(const Secret<32>& label_seed, const ProductPlan& plan) {
  return wide_words(mask_words(label_seed, MaskUse::product_share, 0, 0, 2 * plan.products()));
}

// to[i][j] += the sum over the rows of left[row][i] * right[row][j].
void add_product(std::vector<WideWord>& to, const std::vector<WideWord>& left, size_t left_width,
                 const std::vector<WideWord>& right, size_t right_width);

}  // namespace coterie::vertical
