#include "device_sdk/watch/json_members.h"

#include <algorithm>
#include <limits>

#include "base/json/json_pointer.h"
#include "base/json/json_scanner.h"
#include "base/text/number_from_chars.h"
#include "base/text/suggest.h"

namespace coterie {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() && (text[0] == '-' || (text[0] >= '0' && text[0] <= '9'));
}

}  // namespace

JsonMembers::JsonMembers(std::string_view text, std::string pointer, Problems& problems)
    : pointer_(std::move(pointer)), problems_(&problems) {
  JsonScanner scanner(text);
  if (scanner.peek() != '{') {
    problems_->push_back({pointer_, "must be an object"});
    return;
  }
  scanner.object([&](std::string_view key) {
    if (has(key)) problem(key, "is there twice");
    std::string_view value;
    std::string name(key);
    (void)scanner.peek();  // past the blanks in front of the value
    if (!scanner.skip(value)) return false;
    members_.emplace_back(std::move(name), value);
    return true;
  });
}

bool JsonMembers::has(std::string_view key) const {
  return std::ranges::any_of(members_, [&](const auto& member) { return member.first == key; });
}

const std::string_view* JsonMembers::find(std::string_view key) {
  known_.emplace_back(key);
  const auto found = std::ranges::find_if(members_, [&](const auto& member) { return member.first == key; });
  return found == members_.end() ? nullptr : &found->second;
}

void JsonMembers::problem(std::string_view key, std::string detail) {
  problems_->push_back({pointer_ + pointer_step(key), std::move(detail)});
}

void JsonMembers::require(std::string_view key) {
  if (!has(key)) problem(key, "is required");
}

void JsonMembers::read(std::string_view key, std::string& value) {
  const std::string_view* const text = find(key);
  if (text == nullptr) return;
  JsonScanner scanner(*text);
  if (scanner.peek() != '"') problem(key, "must be a string");
  else scanner.string(value);
}

std::optional<uint64_t> JsonMembers::whole(std::string_view key, uint64_t min, uint64_t max) {
  const std::string_view* const text = find(key);
  if (text == nullptr) return std::nullopt;
  JsonScanner scanner(*text);
  uint64_t value = 0;
  if (is_number(*text) && scanner.unsigned_integer(value) && value >= min && value <= max) return value;
  const bool has_end = max < std::numeric_limits<uint64_t>::max();
  problem(key, has_end ? "must be in [" + std::to_string(min) + ", " + std::to_string(max) + "]"
                       : "must be a whole number from " + std::to_string(min) + " on");
  return std::nullopt;
}

void JsonMembers::read(std::string_view key, uint32_t& value, uint32_t min, uint32_t max) {
  if (const auto read = whole(key, min, max)) value = static_cast<uint32_t>(*read);
}

void JsonMembers::read(std::string_view key, uint64_t& value) {
  value = whole(key, 0, std::numeric_limits<uint64_t>::max()).value_or(value);
}

std::optional<double> JsonMembers::number(std::string_view key) {
  const std::string_view* const text = find(key);
  if (text == nullptr) return std::nullopt;
  double value = 0;
  if (is_number(*text)) {
    const auto [end, error] = number_from_chars(text->data(), text->data() + text->size(), value);
    if (error == std::errc() && end == text->data() + text->size()) return value;
  }
  problem(key, "must be a number");
  return std::nullopt;
}

std::vector<std::string_view> JsonMembers::list(std::string_view key, size_t most, const std::string& what) {
  const std::string_view* const text = find(key);
  std::vector<std::string_view> elements;
  if (text == nullptr) return elements;
  JsonScanner scanner(*text);
  size_t count = 0;
  if (scanner.peek() == '[') {
    scanner.array([&] {
      std::string_view element;
      (void)scanner.peek();
      if (!scanner.skip(element)) return false;
      if (++count <= most) elements.push_back(element);
      return true;
    });
  }
  if (count >= 1 && count <= most) return elements;
  problem(key, "must be a list of 1 to " + std::to_string(most) + " " + what);
  return {};
}

void JsonMembers::finish() {
  for (const auto& [key, value] : members_) {
    if (std::ranges::find(known_, key) == known_.end()) problem(key, "unknown key" + or_meant(key, known_));
  }
}

Status check_json(std::string_view text) {
  JsonScanner scanner(text);
  std::string_view all;
  if (scanner.skip(all) && scanner.end()) return {};
  return scanner.error();
}

}  // namespace coterie
