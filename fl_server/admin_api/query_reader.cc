#include "fl_server/admin_api/query_reader.h"

#include <algorithm>
#include <charconv>
#include <chrono>

namespace coterie {
namespace {

constexpr size_t kCursorIdCharsMax = 128;

// All of `text`, which has digits and nothing else.
template <typename T>
std::optional<T> digits(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool plain = !text.empty() && text[0] != '-';
  if (!plain || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

uint64_t query_number(const std::map<std::string, std::string>& query, const std::string& key, uint64_t fallback,
                      uint64_t min, uint64_t max, Problems& problems) {
  const auto found = query.find(key);
  if (found == query.end()) return fallback;
  const std::optional<uint64_t> value = digits<uint64_t>(found->second);
  if (value && *value >= min && *value <= max) return *value;
  problems.push_back({"?" + key, "must be an integer in [" + std::to_string(min) + ", " + std::to_string(max) + "]"});
  return fallback;
}

Result<ModelVersion> model_version_from(const std::string& text) {
  const std::optional<uint64_t> value = digits<uint64_t>(text);
  if (value && *value <= INT64_MAX) return ModelVersion(*value);
  return Error(ErrorCode::invalid_argument, "a model version is a number, not " + text);
}

std::string CreationCursor::text() const { return std::to_string(unix_ms(created)) + "-" + id; }

std::optional<CreationCursor> CreationCursor::parse(std::string_view text) {
  const size_t dash = text.find('-');
  if (dash == std::string_view::npos || text.size() - dash - 1 > kCursorIdCharsMax) return std::nullopt;
  const std::optional<int64_t> ms = digits<int64_t>(text.substr(0, dash));
  if (!ms) return std::nullopt;
  return CreationCursor{wall_time_from_unix_ms(*ms), std::string(text.substr(dash + 1))};
}

std::optional<WallTime> parse_rfc3339(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00T00:00:00";
  const auto has_form = [](std::string_view given, std::string_view form) {
    return given.size() == form.size() &&
           std::ranges::equal(given, form, [](char c, char f) { return f == '0' ? c >= '0' && c <= '9' : c == f; });
  };
  if (!text.ends_with('Z')) return std::nullopt;
  text.remove_suffix(1);
  int ms = 0;
  if (has_form(text.substr(std::min(kForm.size(), text.size())), ".000")) {
    ms = *digits<int>(text.substr(kForm.size() + 1));
    text = text.substr(0, kForm.size());
  }
  if (!has_form(text, kForm)) return std::nullopt;
  const auto field = [text](size_t at, size_t count) { return *digits<int>(text.substr(at, count)); };
  const std::chrono::year_month_day date(std::chrono::year(field(0, 4)),
                                         std::chrono::month(static_cast<unsigned>(field(5, 2))),
                                         std::chrono::day(static_cast<unsigned>(field(8, 2))));
  const int hour = field(11, 2), minute = field(14, 2), second = field(17, 2);
  if (!date.ok() || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  const int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return wall_time_from_unix_ms((((days * 24 + hour) * 60 + minute) * 60 + second) * 1000 + ms);
}

const std::string* QueryReader::find(const std::string& key) {
  asked_.push_back(key);
  const auto found = query_.find(key);
  return found == query_.end() ? nullptr : &found->second;
}

uint64_t QueryReader::number(const std::string& key, uint64_t fallback, uint64_t min, uint64_t max) {
  asked_.push_back(key);
  return query_number(query_, key, fallback, min, max, problems_);
}

std::optional<std::string> QueryReader::text(const std::string& key, size_t chars_max) {
  const std::string* const found = find(key);
  if (found == nullptr) return std::nullopt;
  if (!found->empty() && found->size() <= chars_max) return *found;
  wrong(key, "must have 1 to " + std::to_string(chars_max) + " characters");
  return std::nullopt;
}

std::optional<bool> QueryReader::flag(const std::string& key) {
  const std::string* const found = find(key);
  if (found == nullptr) return std::nullopt;
  if (*found == "true" || *found == "false") return *found == "true";
  wrong(key, "must be true or false");
  return std::nullopt;
}

std::optional<WallTime> QueryReader::time(const std::string& key) {
  const std::string* const found = find(key);
  if (found == nullptr) return std::nullopt;
  const std::optional<WallTime> time = parse_rfc3339(*found);
  if (!time) wrong(key, "must be a time in UTC as 2026-11-21T06:30:00Z");
  return time;
}

std::optional<CreationCursor> QueryReader::cursor(const std::string& key) {
  const std::string* const found = find(key);
  if (found == nullptr) return std::nullopt;
  std::optional<CreationCursor> cursor = CreationCursor::parse(*found);
  if (!cursor) wrong(key, "must be a next_after of an earlier page");
  return cursor;
}

void QueryReader::finish() {
  for (const auto& [key, value] : query_) {
    if (std::ranges::find(asked_, key) != asked_.end()) continue;
    std::string known;
    for (const std::string& name : asked_) known += (known.empty() ? "" : ", ") + name;
    wrong(key.substr(0, kCursorIdCharsMax), "is not known here; there " + (known.empty() ? "is none" : "are " + known));
  }
}

}  // namespace coterie
