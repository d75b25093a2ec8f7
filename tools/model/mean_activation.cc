#include "tools/model/mean_activation.h"

#include <algorithm>
#include <cstdint>

#include "tools/model/partial_model.h"

namespace coterie {
namespace {

// Adds up what passes by, element by element of the last dimension.
class Sum {
 public:
  explicit Sum(size_t width) : sums_(width) {}
  void add(std::span<const float> values) {
    for (size_t i = 0; i < values.size(); ++i) sums_[i % sums_.size()] += static_cast<double>(values[i]);
    rows_ += values.size() / sums_.size();
  }
  std::vector<double> means() const {
    std::vector<double> means = sums_;
    for (double& mean : means) mean /= static_cast<double>(std::max<uint64_t>(rows_, 1));
    return means;
  }

 private:
  std::vector<double> sums_;
  uint64_t rows_ = 0;
};

}  // namespace

Result<std::vector<double>> mean_activation(const Model& model, uint32_t tensor, ExampleSource& examples,
                                            uint64_t target_elements) {
  const Shape& shape = model.shape(tensor);  // the batch first
  Sum sum(shape.size() < 2 || shape.back() < 1 ? 1 : static_cast<size_t>(shape.back()));
  COT_TRY(for_each_activation(model, tensor, examples, target_elements,
                              [&](std::span<const float> values) { sum.add(values); }));
  return sum.means();
}

}  // namespace coterie
