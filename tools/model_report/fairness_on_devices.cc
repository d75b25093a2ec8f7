#include "tools/model_report/fairness_on_devices.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "base/os/file.h"
#include "fl_server/json/json_reader.h"

namespace coterie {
namespace {

Error malformed(const std::string& what) { return Error(ErrorCode::malformed, what); }

std::optional<double> number_in(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number() || !std::isfinite(found->get<double>())) return std::nullopt;
  return found->get<double>();
}

std::string text_in(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::optional<ScoredOnDevices::Figure> figure_in(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_object()) return std::nullopt;
  const std::optional<double> value = number_in(*found, "value");
  if (!value) return std::nullopt;
  return ScoredOnDevices::Figure{*value, number_in(*found, "low"), number_in(*found, "high")};
}

Result<ScoredOnDevices> score_from(const nlohmann::json& json, const std::string& name) {
  if (!json.is_object()) return malformed("a model or a group is no JSON object");
  const std::optional<double> devices = number_in(json, "devices"), examples = number_in(json, "examples");
  if (!devices || !examples || *devices < 0 || *examples < 0)
    return malformed("a group names no devices or no examples");
  return ScoredOnDevices{name, *devices, *examples, figure_in(json, "accuracy"), figure_in(json, "loss")};
}

// The last group is of examples in none: it is compared with no other.
std::optional<double> gap_of(std::span<const ScoredOnDevices> groups) {
  std::vector<double> values;
  for (const ScoredOnDevices& group : groups.first(groups.empty() ? 0 : groups.size() - 1)) {
    if (group.accuracy) values.push_back(group.accuracy->value);
  }
  if (values.size() < 2) return std::nullopt;
  const auto [least, most] = std::ranges::minmax(values);
  return most - least;
}

}  // namespace

Result<DeviceFairness> parse_device_fairness(std::string_view result, const std::string& model_digest) {
  constexpr std::string_view kSchema = "coterie.evaluation_result.v1";
  Problems problems;
  const std::optional<nlohmann::json> json = parse_json(result, problems);
  if (!json || !json->is_object() || text_in(*json, "schema") != kSchema) {
    return malformed("is no " + std::string(kSchema) + ", which `coterie job result JOB -o json` prints");
  }
  const auto models = json->find("models");
  if (models == json->end() || !models->is_array() || models->empty()) return malformed("has no models");
  const nlohmann::json* model = &models->back();
  for (const nlohmann::json& one : *models) {
    if (one.is_object() && text_in(one, "model") == model_digest) model = &one;
  }
  DeviceFairness made;
  COT_ASSIGN(made.all, score_from(*model, "all"));
  made.column = text_in(*json, "column");
  made.model_digest = text_in(*model, "model");
  made.is_of_model = made.model_digest == model_digest;
  const auto groups = model->find("groups");
  if (groups != model->end() && groups->is_array()) {
    if (groups->size() > kDeviceGroupsMax + 1) return malformed("has more groups than an evaluation may have");
    for (const nlohmann::json& group : *groups) {
      COT_ASSIGN(ScoredOnDevices score, score_from(group, group.is_object() ? text_in(group, "name") : std::string()));
      made.groups.push_back(std::move(score));
    }
  }
  made.accuracy_gap = gap_of(made.groups);
  const auto worst = model->find("worst_tenth");
  if (worst != model->end() && worst->is_object()) {
    made.worst_from = number_in(*worst, "from");
    made.worst_to = number_in(*worst, "to");
  }
  return made;
}

Result<DeviceFairness> read_device_fairness(const std::string& file, const std::string& model_digest) {
  COT_ASSIGN(const Bytes bytes, os::read_file(file, kEvaluationBytesMax));
  Result<DeviceFairness> made = parse_device_fairness(as_text(bytes), model_digest);
  if (!made) return made.error().with_context(file);
  return made;
}

}  // namespace coterie
