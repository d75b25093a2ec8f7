#include "scheduler/job/model_rules.h"

#include "proto/messages/running_statistics.h"

namespace coterie {

Problems validate_with_graph(const HorizontalSettings& settings, const ModelGraph& graph) {
  const size_t moving = running_statistics(graph).size();
  if (settings.update.compression.is_on() && moving > 0) {
    return {{"/model", "has " + std::to_string(moving) +
                           " batch norms whose running statistics follow the devices' data, which update.compression "
                           "would round away: freeze those norms in the model, use layer or group norms, or take the "
                           "compression out"}};
  }
  if (!settings.privacy.has_noise() || moving == 0) return {};
  return {{"/model", "has " + std::to_string(moving) +
                         " batch norms whose running statistics follow the devices' data, and noise does not cover "
                         "them: freeze those norms in the model, use layer or group norms, or take the noise out"}};
}

Statistics default_statistics(const ModelGraph& graph) {
  return running_statistics(graph).empty() ? Statistics::averaged : Statistics::pooled;
}

}  // namespace coterie
