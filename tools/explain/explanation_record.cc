#include "tools/explain/explanation_record.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "fl_server/json/json_reader.h"

namespace coterie {
namespace {

constexpr const char* kSchema = "coterie.explanation.v1";

nlohmann::json area_json(double own, double random) { return {{"attribution", own}, {"chance", random}}; }

void read_area(JsonReader reader, double& own, double& random) {
  reader.require("attribution");
  reader.require("chance");
  reader.read("attribution", own);
  reader.read("chance", random);
  reader.finish();
}

void read_text(JsonReader& reader, const char* key, std::string& text) {
  reader.read(key, text);
  if (text.size() > kExplanationTextBytesMax)
    reader.problem(key, "must have at most " + std::to_string(kExplanationTextBytesMax) + " bytes");
}

}  // namespace

std::string explanation_stem(const ExplanationRecord& record) {
  return record.method + "-" + std::to_string(record.example) + "-" + std::to_string(record.output);
}

bool is_explanation_stem(std::string_view text) {
  return !text.empty() && text.size() <= kExplanationStemCharsMax && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

nlohmann::json to_json(const ExplanationRecord& record) {
  nlohmann::json json = {{"schema", kSchema},
                         {"method", record.method},
                         {"model_digest", record.model_digest.hex()},
                         {"data", record.data},
                         {"example", record.example},
                         {"output", record.output},
                         {"predicted", record.predicted},
                         {"score", record.score}};
  if (record.label) json["label"] = *record.label;
  if (record.checked) {
    json["deletion"] = area_json(record.checked->deletion, record.checked->random_deletion);
    json["insertion"] = area_json(record.checked->insertion, record.checked->random_insertion);
  }
  return json;
}

Result<ExplanationRecord> parse_explanation(std::string_view text) {
  Problems problems;
  const std::optional<nlohmann::json> json = parse_json(text, problems);
  ExplanationRecord record;
  if (json) {
    JsonReader reader(*json, "", problems);
    for (const char* key : {"schema", "method", "model_digest", "data", "example", "output", "predicted", "score"}) {
      reader.require(key);
    }
    std::string schema;
    reader.read("schema", schema);
    if (schema != kSchema) reader.problem("schema", std::string("must be ") + kSchema);
    read_text(reader, "method", record.method);
    if (find_attribution_method(record.method) == nullptr) reader.problem("method", "is no method of explanations");
    reader.read("model_digest", record.model_digest);
    read_text(reader, "data", record.data);
    reader.read("example", record.example);
    if (uint32_t label = 0; reader.has("label")) {
      reader.read("label", label);
      record.label = label;
    }
    reader.read("output", record.output);
    reader.read("predicted", record.predicted);
    reader.read("score", record.score);
    if (reader.has("deletion") || reader.has("insertion")) {
      CheckedExample& checked = record.checked.emplace();
      read_area(reader.object("deletion"), checked.deletion, checked.random_deletion);
      read_area(reader.object("insertion"), checked.insertion, checked.random_insertion);
    }
    reader.finish();
  }
  if (!problems.empty()) return Error(ErrorCode::invalid_argument, listed(problems));
  return record;
}

}  // namespace coterie
