#include "tools/debug/watch_words.h"

#include <nlohmann/json.hpp>

#include "device_sdk/watch/open_watch.h"
#include "device_sdk/watch/watch_file.h"
#include "tools/cli/table.h"

namespace coterie {
namespace {

constexpr std::string_view kPointer = "/checks/0/";  // of the one check that there is

// The setting that a number alone means.
Result<std::string> threshold_of(const DebugCommand& command) {
  const Check* const check = find_check(command.check);
  if (check == nullptr) return std::string("threshold");  // parse_watch says what is wrong
  std::vector<std::string> names;
  for (const CheckSetting& setting : check->settings) {
    if (setting.is_threshold) names.emplace_back(setting.name);
  }
  if (names.size() == 1) return names[0];
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return Error(ErrorCode::invalid_argument,
               command.check + (names.empty() ? " takes no threshold" : " takes a number behind one of " + all));
}

std::string without_pointers(std::string text) {
  for (size_t at = text.find(kPointer); at != std::string::npos; at = text.find(kPointer, at)) {
    text.erase(at, kPointer.size());
  }
  return text;
}

}  // namespace

Result<std::vector<WatchedCheck>> checks_of(const DebugCommand& command) {
  if (command.check == kRecommendedWatch) {
    if (command.tensor.empty() && command.settings.empty()) return recommended_watch().checks;
    return Error(ErrorCode::invalid_argument, "`watch recommended` takes no pattern and no setting");
  }
  nlohmann::json check = {{"check", command.check}};
  if (!command.tensor.empty()) check["tensors"] = command.tensor;
  for (const CheckWord& word : command.settings) {
    std::string name = word.name;
    if (name.empty()) {
      COT_ASSIGN(name, threshold_of(command));
    }
    // Whole numbers as such: `steps` takes no others.
    if (word.value >= 0 && word.value <= 1e15 && word.value == static_cast<double>(static_cast<uint64_t>(word.value))) {
      check[name] = static_cast<uint64_t>(word.value);
    } else {
      check[name] = word.value;
    }
  }
  const nlohmann::json file = {{"checks", {check}}};
  Result<WatchPlan> plan = parse_watch(file.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  if (!plan) return Error(plan.error().code(), without_pointers(plan.error().message()));
  return std::move(plan->checks);
}

std::string words_of(const WatchedCheck& watched) {
  std::string text(watched.check->name);
  if (watched.tensors != "*") text += " on " + printable(watched.tensors);
  if (!watched.op.empty()) text += " (op " + watched.op + ")";
  for (size_t i = 0; i < watched.values.size(); ++i) {
    if (watched.values[i]) {
      text += " " + std::string(watched.check->settings[i].name) + " " + format_digits(*watched.values[i]);
    }
  }
  if (watched.from_step > 0) text += " from_step " + std::to_string(watched.from_step);
  if (watched.steps > 0) text += " steps " + std::to_string(watched.steps);
  return text;
}

}  // namespace coterie
