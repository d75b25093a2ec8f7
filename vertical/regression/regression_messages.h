// What the parties of a regression say to each other and hear of their dealer. A payload is a step (4 bytes) and words
// of 8 bytes, all little-endian.
#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "vertical/regression/ring_plan.h"
#include "vertical/stage/stage.h"

namespace coterie::vertical {

enum class RegressionMessage : uint16_t {
  shape = 1,        // both: rows, own columns
  columns,          // both: columns minus their mask, rows in order
  weights,          // label party: the last step's masked change, but in the first step; then masked weights
  margins,          // feature party: masked weights, then masked margins
  residuals,        // label party: masked margins, then masked residuals
  gradients,        // feature party: masked residuals, its share of the guard, its masked change
  last,             // label party: the last step's masked change, its shares of the feature party's weights
  label_weights,    // feature party: its shares of the label party's weights
  stop,             // label party: the guard says that the sigmoid does not hold
  scores,           // feature party: a number for each row that is scored
  products,         // feature party of a linear regression: its share of a product of tables
  moments,          // likewise: the means of products of its columns, as doubles
  feature_weights,  // label party of a linear regression: the feature party's weights, as doubles
  dealt_seed = 32,  // dealer: 32 bytes and no step
  dealt_words,      // dealer: what a party cannot make of its seed; see dealing.h
};

constexpr PartyIndex kDealer = 2;

Message word_message(PartyIndex to, RegressionMessage kind, uint32_t step,
                     std::initializer_list<std::span<const Word>> parts);

// `malformed`, with the names of what came and what was expected, unless it is of this kind.
Status expect_regression_message(const Message& message, RegressionMessage kind);

// The words of a message of this kind, step and size; the same errors.
Result<std::vector<Word>> read_word_message(const Message& message, RegressionMessage kind, uint32_t step,
                                            size_t words);

}  // namespace coterie::vertical
