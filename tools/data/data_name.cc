#include "tools/data/data_name.h"

#include <algorithm>
#include <charconv>

namespace coterie {
namespace {

Error bad(std::string_view text, const std::string& what) {
  return Error(ErrorCode::invalid_argument, std::string(text) + ": " + what);
}

}  // namespace

Result<DataName> DataName::parse(std::string_view text) {
  DataName name;
  const size_t colon = text.find(':');
  name.kind_ = text.substr(0, colon);
  if (colon == std::string_view::npos) return name;
  std::string_view rest = text.substr(colon + 1);
  const size_t question = rest.find('?');
  name.path_ = rest.substr(0, question);
  while (question != std::string_view::npos && rest.find_first_of("?&") != std::string_view::npos) {
    rest = rest.substr(rest.find_first_of("?&") + 1);
    const std::string_view option = rest.substr(0, rest.find('&'));
    const size_t equals = option.find('=');
    if (equals == 0 || equals == std::string_view::npos) {
      return bad(text, "an option must be NAME=VALUE, is \"" + std::string(option) + "\"");
    }
    const std::string key(option.substr(0, equals));
    if (!name.options_.emplace(key, option.substr(equals + 1)).second) return bad(text, "gives " + key + " twice");
  }
  return name;
}

std::optional<std::string> DataName::take(const std::string& option) {
  const auto found = options_.find(option);
  if (found == options_.end()) return std::nullopt;
  std::string value = std::move(found->second);
  options_.erase(found);
  return value;
}

Result<uint32_t> DataName::take_number(const std::string& option, uint32_t otherwise, uint32_t min, uint32_t max) {
  const std::optional<std::string> text = take(option);
  if (!text) return otherwise;
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc() || end != text->data() + text->size() || number < min || number > max) {
    return bad(kind_, option + " must be a number in [" + std::to_string(min) + ", " + std::to_string(max) +
                          "], is \"" + *text + "\"");
  }
  return number;
}

Result<bool> DataName::take_second(const std::string& option, const std::string& first, const std::string& second) {
  const std::string value = take(option).value_or(first);
  if (value == first || value == second) return value == second;
  return bad(kind_, option + " must be " + first + " or " + second + ", is \"" + value + "\"");
}

Status DataName::check_all_taken(std::string_view known) const {
  if (options_.empty()) return {};
  return bad(kind_, "has no option " + options_.begin()->first + "; it has " + std::string(known));
}

std::vector<std::string> words_between_commas(const std::string& list) {
  std::vector<std::string> words;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    words.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

}  // namespace coterie
