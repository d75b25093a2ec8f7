#include "tools/demo/personal_option.h"

#include <algorithm>
#include <string>
#include <vector>

#include "device_sdk/runtime/parse_number.h"

namespace coterie {
namespace {

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    words.emplace_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return words;
}

Status read_setting(const std::string& word, PersonalSettings& personal) {
  const size_t equals = word.find('=');
  const std::string name = word.substr(0, equals), number = equals == word.npos ? "" : word.substr(equals + 1);
  const bool is_part = personal.kind == PersonalKind::part;
  if (is_part && word == "norms") {
    personal.norms = true;
    return {};
  }
  if (is_part && name == "first_epochs" && parse_number(number, personal.first_epochs)) return {};
  const bool is_model = personal.kind == PersonalKind::model;
  if (is_model && name == "lambda" && parse_number(number, personal.lambda)) return {};
  if (!is_part && !is_model && name == "count" && parse_number(number, personal.count)) return {};
  const char* const has = is_part ? ", which has norms and first_epochs=N" : ", which has lambda=X";
  return Error(ErrorCode::invalid_argument, word + " is no setting of " + std::string(to_string(personal.kind)) +
                                                (is_part || is_model ? has : ", which has count=N"));
}

}  // namespace

Result<PersonalSettings> parse_personal(std::string_view text) {
  const size_t colon = text.find(':');
  std::vector<std::string> words = words_of(text.substr(0, colon));
  PersonalSettings personal;
  if (words.front() == "model") personal.kind = PersonalKind::model;
  else if (words.front() == "clusters") personal.kind = PersonalKind::clusters;
  else if (words.front() != "part")
    return Error(ErrorCode::invalid_argument, "must begin with part, model or clusters");
  for (size_t i = 1; i < words.size(); ++i) COT_TRY(read_setting(words[i], personal));
  if (colon == text.npos) return personal;
  if (personal.kind == PersonalKind::model) {
    return Error(ErrorCode::invalid_argument, "of model no parameters are named: all of it is the device's own");
  }
  if (personal.kind == PersonalKind::clusters) {
    return Error(ErrorCode::invalid_argument, "of clusters no parameters are named: devices share all of a cluster's");
  }
  personal.parameters = words_of(text.substr(colon + 1));
  if (std::ranges::find(personal.parameters, "") == personal.parameters.end()) return personal;
  return Error(ErrorCode::invalid_argument, "behind the colon stand patterns of parameters with commas between");
}

std::string_view note_of(const PersonalSettings& personal) {
  if (personal.kind == PersonalKind::clusters) {
    return "this is of the cluster that fits the held-out data best; devices have each its own";
  }
  if (personal.kind != PersonalKind::part) return {};
  return "this is the server's model: what devices keep to themselves is in it as before training";
}

}  // namespace coterie
