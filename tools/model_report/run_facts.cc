#include "tools/model_report/run_facts.h"

#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "fl_server/json/json_reader.h"
#include "tools/cli/table.h"

namespace coterie {
namespace {

std::string value_text(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return format_digits(value.get<double>());
  return value.dump();
}

std::optional<double> number_at(const nlohmann::json& json, const char* pointer) {
  const nlohmann::json::json_pointer at(pointer);
  if (!json.contains(at) || !json.at(at).is_number()) return std::nullopt;
  return json.at(at).get<double>();
}

std::optional<RunFacts::OwnScores> own_scores(const nlohmann::json& summary) {
  const std::optional<double> devices = number_at(summary, "/own/devices"),
                              accuracy = number_at(summary, "/own/published/accuracy"),
                              worst = number_at(summary, "/own/published/worst_tenth");
  if (!devices || !accuracy || !worst) return std::nullopt;
  return RunFacts::OwnScores{*devices, *accuracy, *worst};
}

bool is_left_out(const std::string& key) {
  return key.ends_with("_path") || key == "run_dir" || key == "seconds" || key == "schema" || key == "security" ||
         key == "model_digest";
}

}  // namespace

Result<RunFacts> parse_run_facts(std::string_view summary) {
  Problems problems;
  const std::optional<nlohmann::json> json = parse_json(summary, problems);
  if (!json || !json->is_object()) return Error(ErrorCode::malformed, "is no JSON object: " + listed(problems));
  RunFacts facts;
  const auto text = [&](const char* key) {
    const auto found = json->find(key);
    return found != json->end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  facts.model_digest = text("model_digest");
  facts.security = text("security");
  for (const auto& [key, value] : json->items()) {
    if (!value.is_primitive() || value.is_null() || is_left_out(key) || facts.job.size() >= kRunFactsMax) continue;
    facts.job.emplace_back(key, value_text(value));
  }
  facts.own = own_scores(*json);
  const auto privacy = json->find("privacy");
  if (privacy == json->end() || !privacy->is_object()) return facts;
  facts.epsilon = number_at(*json, "/privacy/epsilon");
  facts.delta = number_at(*json, "/privacy/delta");
  const auto head = privacy->find("ledger_head");
  if (head != privacy->end() && head->is_string()) facts.ledger_head = head->get<std::string>();
  for (const auto& [key, value] : privacy->items()) {
    if (value.is_primitive() && facts.privacy.size() < kRunFactsMax) facts.privacy.emplace_back(key, value_text(value));
  }
  return facts;
}

std::string run_summary_path(const std::string& folder) { return folder + "/summary.json"; }

Result<RunFacts> read_run_facts(const std::string& folder) {
  const std::string path = run_summary_path(folder);
  COT_ASSIGN(const Bytes bytes, os::read_file(path, kRunFactsBytesMax));
  Result<RunFacts> facts = parse_run_facts({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!facts) return facts.error().with_context(path);
  return facts;
}

}  // namespace coterie
