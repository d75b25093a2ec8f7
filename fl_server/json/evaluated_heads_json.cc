#include "fl_server/json/evaluated_heads_json.h"

#include <nlohmann/json.hpp>

namespace coterie {

nlohmann::json to_json(const std::vector<EvaluatedHead>& heads) {
  nlohmann::json all = nlohmann::json::array();
  for (const EvaluatedHead& head : heads) {
    nlohmann::json one = {{"output", head.output}};
    if (head.loss) one["loss"] = *head.loss;
    if (head.accuracy) one["accuracy"] = *head.accuracy;
    if (head.mae) one["mae"] = *head.mae;
    all.push_back(std::move(one));
  }
  return all;
}

std::vector<EvaluatedHead> evaluated_heads_in(const nlohmann::json& json) {
  std::vector<EvaluatedHead> heads;
  const auto found = json.find("evaluation_heads");
  if (found == json.end()) return heads;
  const auto number = [](const nlohmann::json& head, const char* key) {
    const auto value = head.find(key);
    return value != head.end() && value->is_number() ? std::optional(value->get<double>()) : std::nullopt;
  };
  for (const nlohmann::json& head : *found) {
    heads.push_back({.output = head.at("output").get<std::string>(),
                     .loss = number(head, "loss"),
                     .accuracy = number(head, "accuracy"),
                     .mae = number(head, "mae")});
  }
  return heads;
}

}  // namespace coterie
