#include "fl_server/json/personal_json.h"

#include <array>
#include <nlohmann/json.hpp>

#include "fl_server/json/readable_float.h"

namespace coterie {
namespace {

constexpr std::array<std::string_view, 3> kKinds = {"part", "model", "clusters"};

}  // namespace

void read_personal(JsonReader& reader, TrainingSettings& settings) {
  if (!reader.has("personal")) return;
  JsonReader own = reader.object("personal");
  PersonalSettings personal;
  own.read_kind("kind", kKinds, personal.kind);
  own.read("parameters", personal.parameters);
  own.read("norms", personal.norms);
  own.read("first_epochs", personal.first_epochs);
  own.read("lambda", personal.lambda);
  own.read("count", personal.count);
  own.finish();
  settings.personal = std::move(personal);
}

void add_personal(nlohmann::json& training, const TrainingSettings& settings) {
  if (!settings.personal) return;
  const PersonalSettings& personal = *settings.personal;
  if (personal.kind == PersonalKind::model) {
    training["personal"] = {{"kind", to_string(personal.kind)}, {"lambda", readable(personal.lambda)}};
    return;
  }
  if (personal.kind == PersonalKind::clusters) {
    training["personal"] = {{"kind", to_string(personal.kind)}, {"count", personal.count}};
    return;
  }
  training["personal"] = {{"kind", to_string(personal.kind)},
                          {"parameters", personal.parameters},
                          {"norms", personal.norms},
                          {"first_epochs", personal.first_epochs}};
}

}  // namespace coterie
