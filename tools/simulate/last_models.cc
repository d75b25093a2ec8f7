#include "tools/simulate/last_models.h"

#include <string>
#include <vector>

#include "base/assert.h"
#include "device_sdk/runtime/model.h"

namespace coterie {

void LastModels::add(Bytes model) {
  models_.push_back(std::move(model));
  if (models_.size() > count_) models_.pop_front();
}

Result<Bytes> LastModels::mean() const {
  COT_ASSERT(!models_.empty());
  if (models_.size() == 1) return models_.front();
  COT_ASSIGN(const Model newest, Model::load(models_.back()));
  std::vector<double> sums(newest.parameters().size());
  for (const Bytes& file : models_) {
    COT_ASSIGN(const Model model, Model::load(file));
    const std::span<const float> values = model.parameters();
    if (values.size() != sums.size()) {
      return Error(ErrorCode::malformed, "a mean of models needs models of one size: one has " +
                                             std::to_string(values.size()) + " values, the newest has " +
                                             std::to_string(sums.size()));
    }
    for (size_t i = 0; i < values.size(); ++i) sums[i] += static_cast<double>(values[i]);
  }
  // Divided in double, so that padding and frozen values, which are alike in all of them, come out to the bit.
  std::vector<float> means(sums.size());
  const auto count = static_cast<double>(models_.size());
  for (size_t i = 0; i < sums.size(); ++i) means[i] = static_cast<float>(sums[i] / count);
  return newest.file_with(means);
}

}  // namespace coterie
