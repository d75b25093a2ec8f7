#include "tools/model_report/drills.h"

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "fl_server/json/json_reader.h"
#include "tools/model_report/run_facts.h"

namespace coterie {
namespace {

std::optional<double> number_in(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number() || !std::isfinite(found->get<double>())) return std::nullopt;
  return found->get<double>();
}

std::string text_in(const nlohmann::json& json, const char* key, const char* otherwise) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : otherwise;
}

// "drill-3" of "runs/drill-3/".
std::string folder_name(const std::string& folder) {
  const std::filesystem::path path = std::filesystem::path(folder + "/").lexically_normal().parent_path();
  return path.has_filename() ? path.filename().string() : folder;
}

}  // namespace

Result<DrillOutcome> parse_drill(std::string_view summary) {
  Problems problems;
  const std::optional<nlohmann::json> json = parse_json(summary, problems);
  if (!json || !json->is_object()) return Error(ErrorCode::malformed, "is no JSON object: " + listed(problems));
  DrillOutcome drill{.run = {},
                     .attack = text_in(*json, "attack", "none"),
                     .aggregation = text_in(*json, "aggregation", "mean"),
                     .security = text_in(*json, "security", "not said")};
  std::optional<double> score = number_in(*json, "accuracy");
  if (!score) {
    drill.is_of_numbers = true;
    drill.chance = 0;
    score = number_in(*json, "r2");
  } else {
    drill.chance = number_in(*json, "accuracy_majority");
  }
  if (!score) return Error(ErrorCode::malformed, "names no accuracy and no r2: it is no summary of a run that trained");
  drill.score = *score;
  drill.without_attack = number_in(*json, "accuracy_without_attack");
  return drill;
}

Result<std::vector<DrillOutcome>> read_drills(std::span<const std::string> folders) {
  if (folders.size() > kDrillsMax) {
    return Error(ErrorCode::too_large, "there are " + std::to_string(folders.size()) + " drills, at most " +
                                           std::to_string(kDrillsMax) + " are told");
  }
  std::vector<DrillOutcome> drills;
  for (const std::string& folder : folders) {
    const std::string path = run_summary_path(folder);
    COT_ASSIGN(const Bytes bytes, os::read_file(path, kRunFactsBytesMax));
    Result<DrillOutcome> drill = parse_drill(as_text(bytes));
    if (!drill) return drill.error().with_context(path);
    drill->run = folder_name(folder);
    drills.push_back(std::move(*drill));
  }
  return drills;
}

}  // namespace coterie
