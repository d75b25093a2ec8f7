#include "tools/model_report/answer_sink.h"

#include <cmath>
#include <vector>

namespace coterie {

bool is_classifier(const Model& model, const LossSettings& loss) {
  const Shape& output = model.output_shape();
  return output.size() == 1 && output[0] > 1 && loss.target == TargetKind::labels;
}

bool says_a_number(const Model& model, const LossSettings& loss) {
  return elements(model.output_shape()) == 1 && loss.target == TargetKind::values;
}

OutputSink class_sink(const Model& model, ClassAnswers& answers, GroupAnswers* groups) {
  const auto width = static_cast<size_t>(model.output_shape()[0]);
  return [&answers, groups, width, kind = scores_of(model.graph()), probabilities = std::vector<double>()](
             std::span<const float> outputs, std::span<const float> targets) mutable {
    const auto* const labels = reinterpret_cast<const int32_t*>(targets.data());
    for (size_t i = 0; i < targets.size(); ++i) {
      to_probabilities(outputs.subspan(i * width, width), kind, probabilities);
      const auto label = static_cast<uint32_t>(labels[i]);
      answers.add(probabilities, label);
      if (groups) groups->add(said_class(probabilities), label, -std::log(probabilities[label]));
    }
  };
}

OutputSink number_sink(double unit, GroupAnswers& groups) {
  return [&groups, unit](std::span<const float> outputs, std::span<const float> targets) {
    for (size_t i = 0; i < targets.size(); ++i) {
      groups.add(unit * std::fabs(static_cast<double>(outputs[i]) - static_cast<double>(targets[i])));
    }
  };
}

}  // namespace coterie
