#include "fl_server/admin_api/query_reader.h"

#include <algorithm>
#include <charconv>

#include "fl_server/json/rfc3339.h"

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
