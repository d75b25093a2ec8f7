// Dealing: the correlated randomness of a regression, as one party hears it. The dealer sees no share and no value: it
// knows the shape, and draws two seeds.
//
// First the party's seed, of which it makes most of its words itself (mask_stream.h). Then for each step what depends
// on both seeds, with the step in front of each message:
//
//   for each kChunkRows rows   for each row its share of (mask of the peer's columns) x (own mask of their weights);
//                              the feature party then has kSineWords for each row
//   at the step's end          for each of the peer's columns its share of (mask of these columns)' x (own mask of
//                              residuals); the feature party then has kTruncationWords for each column
//
// A dealer that works together with a party can read the other one's columns: they are what the other party has sent
// minus a mask that the dealer knows.
#pragma once

#include <optional>

#include "base/result.h"
#include "secure/crypto/secret.h"
#include "vertical/regression/mask_stream.h"
#include "vertical/regression/regression_messages.h"
#include "vertical/regression/ring_plan.h"

namespace coterie::vertical {

class Dealing {
 public:
  // For party `to`, 0 or 1. The seeds of the two parties are the same at both of a job's dealings. invalid_argument as
  // check_regression_shape(), and for a `first_step` that is none of the shape's: no step before it is dealt again.
  static Result<Dealing> make(const RegressionShape& shape, PartyIndex to, Secret<32> label_seed,
                              Secret<32> feature_seed, uint32_t first_step = 0);

  // A piece of work each, some milliseconds; none when all is dealt.
  std::optional<Message> next();

 private:
  Dealing(const RegressionShape& shape, PartyIndex to, Secret<32> label_seed, Secret<32> feature_seed,
          uint32_t first_step);
  bool is_label() const { return to_ == 0; }
  uint32_t peer_columns() const;
  Message chunk();
  Message end_of_step();
  void begin_step();

  RingPlan plan_;
  PartyIndex to_;
  Secret<32> own_seed_, peer_seed_;
  bool is_seed_sent_ = false;
  uint32_t step_, row_ = 0;         // the next row of the step
  std::vector<Word> weight_masks_;  // of the step
  std::vector<Word> gradient_;      // as far as the step's rows have come
};

// What a party has heard of its dealer for one step. Memory is that of a step.
class DealtStep {
 public:
  DealtStep(const RingPlan& plan, PartyIndex party, uint32_t step);

  bool is_complete() const { return is_complete_; }
  // `malformed` for a message that is not the next one.
  Status take(const Message& message);

  std::vector<Word> margins;   // [row]
  std::vector<Word> sines;     // [row][kSineWords]; the feature party's
  std::vector<Word> gradient;  // [the peer's column]
  std::vector<Word> changes;   // [column][kTruncationWords]; the feature party's

 private:
  bool is_feature_;
  uint32_t step_, rows_, columns_, peer_columns_, row_ = 0;
  bool is_complete_ = false;
};

// The party's seed; `malformed`.
Result<Secret<32>> read_dealt_seed(const Message& message);

}  // namespace coterie::vertical
