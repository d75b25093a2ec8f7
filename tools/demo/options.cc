#include "tools/demo/options.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace coterie {
namespace {

// A round chooses when all devices are there. One that has died and is being started again shall not hold it up for long.
constexpr uint32_t kSelectingMs = 5'000;
// Long: on a slow machine a round is as long as training takes. A device that dies is started again at once.
constexpr uint32_t kCollectingMs = 300'000;
constexpr double kFedAvgRate = 1.0;
constexpr double kFedAdamRate = 0.01;

}  // namespace

uint32_t DemoOptions::goal_count() const {
  const auto rounded = static_cast<uint32_t>(std::lround(fraction * devices));
  return std::clamp<uint32_t>(rounded, 1, devices);
}

double DemoOptions::server_rate() const {
  return server_learning_rate.value_or(strategy == ServerOptimizerKind::fedadam ? kFedAdamRate : kFedAvgRate);
}

std::string_view to_string(ServerOptimizerKind kind) {
  return kind == ServerOptimizerKind::fedadam ? "fedadam" : "fedavg";
}

std::string job_request(const DemoOptions& options, const std::string& model_digest,
                        const std::string& evaluation_digest) {
  const uint32_t goal = options.goal_count();
  const nlohmann::json json = {
      {"name", "demo-" + options.data.substr(0, options.data.find(':'))},
      {"model", model_digest},
      {"evaluation", evaluation_digest},
      {"training",
       {{"loss", "softmax_cross_entropy"},
        {"batch_size", options.batch_size},
        {"local_epochs", options.local_epochs},
        {"optimizer",
         {{"kind", "sgd"}, {"learning_rate", options.learning_rate}, {"momentum", options.momentum}}}}},
      {"rounds",
       {{"count", options.rounds},
        {"goal_count", goal},
        {"goal_count_min", std::max(1u, goal / 2)},
        {"pool_min", options.devices},
        {"selecting_ms_max", kSelectingMs},
        {"collecting_ms_max", kCollectingMs}}},
      {"strategy",
       {{"kind", to_string(options.strategy)}, {"server_learning_rate", options.server_rate()}}},
  };
  return json.dump(2) + "\n";
}

}  // namespace coterie
