#include "scheduler/job/evaluated_head.h"

namespace coterie {

std::vector<std::pair<std::string, double>> columns_of(const std::vector<EvaluatedHead>& heads) {
  std::vector<std::pair<std::string, double>> columns;
  for (const EvaluatedHead& head : heads) {
    const auto add = [&](const char* name, const std::optional<double>& value) {
      if (value) columns.emplace_back(name + head.output, *value);
    };
    add("evaluation_loss.", head.loss);
    add("evaluation_accuracy.", head.accuracy);
    add("evaluation_mae.", head.mae);
  }
  return columns;
}

}  // namespace coterie
