// The random words that a party and its dealer both make of the party's seed. What they are for, the step and the chunk
// of rows name a stream of its own: hkdf(seed, name) is the key of AES-256 in counter mode (KeyStream).
#pragma once

#include <vector>

#include "secure/crypto/secret.h"
#include "vertical/regression/ring_plan.h"

namespace coterie::vertical {

enum class MaskUse : uint32_t {
  columns = 1,     // [row][own column]: hides the party's columns, the same in each epoch; `step` is the batch
  margin_share,    // [row]: its share of (mask of its columns) x (mask of the peer's weights)
  gradient_share,  // [own column]: the same for the gradient
  weights,         // [the peer's column]: hides its share of the peer's weights
  residual,        // [row]: hides its share of the residuals
  margin,          // [row]: its share of what hides the margins
  sine_share,      // [row][term][sine, cosine]: the label party's share
  change,          // [column]: its share of what hides the change of the weights
  change_share,    // [column][high part, top bit]: the label party's share
  edge,            // one word: the feature party's noise on its share of the guard
  product_share,   // [column of A][column of B]: the label party's share of a product of tables (product_plan.h)
};

// `count` words of one chunk; chunk 0 for what has no rows.
std::vector<Word> mask_words(const Secret<32>& seed, MaskUse use, uint32_t step, uint32_t chunk, size_t count);

// All chunks of `rows` rows, with `row_words` each.
std::vector<Word> mask_rows(const Secret<32>& seed, MaskUse use, uint32_t step, uint32_t rows, size_t row_words);

}  // namespace coterie::vertical
