#include "tools/demo/strategy_option.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "scheduler/job/correction_rules.h"
#include "tools/demo/options.h"

namespace coterie {
namespace {

Status check_strategy_settings(const DemoOptions& options) {
  const StrategyRule& rule = *options.strategy;
  for (const auto& [name, value] : options.strategy_settings) {
    const auto found = std::ranges::find_if(
        rule.settings, [&name = name](const StrategySetting& setting) { return setting.name == name; });
    if (found == rule.settings.end()) {
      std::string names;
      for (const StrategySetting& setting : rule.settings)
        names += (names.empty() ? "" : ", ") + std::string(setting.name);
      return Error(ErrorCode::invalid_argument,
                   "--strategy-setting " + name + ": " + rule.name + " has no such setting; it has " + names);
    }
    if (!found->range.admits(value)) {
      return Error(ErrorCode::invalid_argument, "--strategy-setting " + name + " " + found->range.text);
    }
  }
  return {};
}

}  // namespace

Result<std::pair<std::string, float>> parse_strategy_setting(std::string_view text) {
  const size_t equals = text.find('=');
  float value = 0;
  if (equals != std::string_view::npos && equals > 0) {
    const char* const end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data() + equals + 1, end, value);
    if (error == std::errc() && stopped == end && std::isfinite(value)) {
      return std::pair(std::string(text.substr(0, equals)), value);
    }
  }
  return Error(ErrorCode::invalid_argument,
               "\"" + std::string(text) + "\" is no setting: say its name, = and a number, as in q=1");
}

Status check_strategy(const DemoOptions& options) {
  COT_TRY(check_strategy_settings(options));
  const std::string name = options.strategy->name;
  StrategySettings settings = StrategySettings::of(name);
  for (const auto& [setting, value] : options.strategy_settings) settings.value_of(setting) = value;
  const CorrectionKind kind = correction_of(settings).kind;
  if (options.alpha && kind != CorrectionKind::feddyn) {
    return Error(ErrorCode::invalid_argument, "--alpha is of --strategy feddyn; " + name + " has none");
  }
  if (options.has_noise() && kind != CorrectionKind::none) {
    return Error(ErrorCode::invalid_argument,
                 "--strategy " + name + " does not go with noise: its state would add up the noise of all rounds");
  }
  if (options.has_noise() && !options.strategy->scalars.empty()) {
    return Error(ErrorCode::invalid_argument,
                 "--strategy " + name + " does not go with noise: no clip and no account is made for its scalars");
  }
  const bool is_plain_sgd = options.optimizer == OptimizerKind::sgd && options.momentum == 0;
  if (kind == CorrectionKind::scaffold && !is_plain_sgd) {
    return Error(ErrorCode::invalid_argument,
                 "--strategy " + name +
                     " needs --optimizer sgd without --momentum: from other steps nobody can tell "
                     "the mean of the gradients; --strategy-setting option=1 takes them");
  }
  if (kind == CorrectionKind::mime_lite && !is_plain_sgd) {
    return Error(ErrorCode::invalid_argument,
                 "--strategy mime_lite needs --optimizer sgd without --momentum: the momentum is the server's, "
                 "--strategy-setting momentum=0.9");
  }
  const bool refuses_mu = kind == CorrectionKind::feddyn || kind == CorrectionKind::scaffold;
  if (refuses_mu && (options.proximal_mu != 0 || options.adaptive_mu)) {
    return Error(ErrorCode::invalid_argument,
                 "--strategy " + name + " does not go with " +
                     (options.adaptive_mu ? "--adaptive-mu" : "--proximal-mu") + ": " +
                     (kind == CorrectionKind::feddyn ? "--alpha pulls towards the given model already"
                                                     : "its control would hold the pull towards models of before"));
  }
  return {};
}

}  // namespace coterie
