#include "tools/demo/selection_option.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "scheduler/selection/selection_registry.h"

namespace coterie {
namespace {

Status read_selection_setting(std::string_view text, SelectionSettings& selection) {
  const size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  const auto& settings = selection.rule->settings;
  const auto known = std::ranges::find_if(settings, [&](const SelectionSetting& own) { return own.name == name; });
  if (equals == text.npos || known == settings.end()) {
    return Error(ErrorCode::invalid_argument,
                 std::string(selection.rule->name) + " has no setting " + std::string(name));
  }
  float value = 0;
  const std::string_view number = text.substr(equals + 1);
  const auto end = std::from_chars(number.data(), number.data() + number.size(), value);
  if (end.ec != std::errc() || end.ptr != number.data() + number.size() || !known->range.admits(value)) {
    return Error(ErrorCode::invalid_argument, std::string(name) + " " + known->range.text);
  }
  selection = selection.with(name, value);
  return {};
}

}  // namespace

Result<SelectionSettings> parse_selection(std::string_view text) {
  const size_t colon = text.find(':');
  const SelectionRule* rule = find_selection(text.substr(0, colon));
  if (rule == nullptr) {
    std::string names;
    for (const std::string_view name : selection_names()) names += " " + std::string(name);
    return Error(ErrorCode::invalid_argument, "must be one of" + names + ", perhaps with :SETTING=VALUE,...");
  }
  SelectionSettings selection = SelectionSettings::of(rule->name);
  if (colon == text.npos) return selection;
  for (size_t at = colon + 1; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    COT_TRY(read_selection_setting(text.substr(at, comma - at), selection));
    at = comma + 1;
  }
  return selection;
}

}  // namespace coterie
