// ProductDealing: the correlated randomness of one product of two parties' tables (product_plan.h), as one party hears
// it. First its seed. The label party hears nothing more; the feature party an empty message for each chunk of rows,
// which takes its time, and then its share of U'V.
#pragma once

#include <optional>

#include "base/result.h"
#include "vertical/regression/product_plan.h"
#include "vertical/regression/regression_messages.h"

namespace coterie::vertical {

class ProductDealing {
 public:
  // For party `to`, 0 or 1. The seeds of the two parties are the same at both of a job's dealings. Errors:
  // check_product_shape()'s.
  static Result<ProductDealing> make(const RegressionShape& shape, PartyIndex to, Secret<32> label_seed,
                                     Secret<32> feature_seed);

  // A piece of work each; none when all is dealt.
  std::optional<Message> next();

 private:
  ProductDealing(const RegressionShape& shape, PartyIndex to, Secret<32> label_seed, Secret<32> feature_seed);

  ProductPlan plan_;
  PartyIndex to_;
  Secret<32> label_seed_, feature_seed_;
  bool is_seed_sent_ = false;
  uint32_t chunk_ = 0;
  std::vector<WideWord> product_;
  size_t said_ = 0;  // of it
};

}  // namespace coterie::vertical
