// Query parameters of the admin plane, each read by its type; what is wrong, and what is not known, is a problem that
// names the parameter.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/problem.h"
#include "base/result.h"
#include "base/time.h"

namespace coterie {

// The number under `key`, or `fallback` if it is absent or (with a problem) not a number in [min, max].
uint64_t query_number(const std::map<std::string, std::string>& query, const std::string& key, uint64_t fallback,
                      uint64_t min, uint64_t max, Problems& problems);

// A model's version in a path; invalid_argument.
Result<ModelVersion> model_version_from(const std::string& text);

// Where a page begins, in a list that is ordered by creation: behind the record of this time and id, whether it still
// exists or not. As text "1750000000000-j7k2q".
struct CreationCursor {
  WallTime created;
  std::string id;

  std::string text() const;
  static std::optional<CreationCursor> parse(std::string_view text);
  friend auto operator<=>(const CreationCursor&, const CreationCursor&) = default;
};

inline constexpr uint64_t kPageDefault = 100;  // records of a page
inline constexpr uint64_t kPageMax = 1000;

class QueryReader {
 public:
  // Both outlive the reader.
  QueryReader(const std::map<std::string, std::string>& query, Problems& problems)
      : query_(query), problems_(problems) {}

  uint64_t number(const std::string& key, uint64_t fallback, uint64_t min, uint64_t max);
  uint64_t limit() { return number("limit", kPageDefault, 1, kPageMax); }
  // 1 to `chars_max` characters.
  std::optional<std::string> text(const std::string& key, size_t chars_max);
  std::optional<bool> flag(const std::string& key);  // true, false
  std::optional<WallTime> time(const std::string& key);
  std::optional<CreationCursor> cursor(const std::string& key);
  // The one of `values` with this to_string.
  template <typename Enum>
  std::optional<Enum> choice(const std::string& key, std::span<const Enum> values) {
    const std::string* const found = find(key);
    if (found == nullptr) return std::nullopt;
    std::string names;
    for (const Enum value : values) {
      if (to_string(value) == *found) return value;
      names += (names.empty() ? "" : ", ") + std::string(to_string(value));
    }
    wrong(key, "must be one of " + names);
    return std::nullopt;
  }
  // The value under `key`, for who reads it himself; null if it is absent.
  const std::string* find(const std::string& key);
  void wrong(const std::string& key, std::string what) { problems_.push_back({"?" + key, std::move(what)}); }

  // A problem for each parameter that nobody has asked for. Call last.
  void finish();

 private:
  const std::map<std::string, std::string>& query_;
  Problems& problems_;
  std::vector<std::string> asked_;
};

// The first `limit` of `records` (ordered by what cursor_of gives) behind `after`. `next` gets the cursor of the page
// behind, if there is more.
template <typename Record, typename CursorOf>
std::vector<const Record*> page_of(const std::vector<Record>& records, const std::optional<CreationCursor>& after,
                                   uint64_t limit, CursorOf cursor_of, std::optional<CreationCursor>& next) {
  std::vector<const Record*> page;
  for (const Record& record : records) {
    if (after && cursor_of(record) <= *after) continue;
    if (page.size() == limit) {
      next = cursor_of(*page.back());
      break;
    }
    page.push_back(&record);
  }
  return page;
}

}  // namespace coterie
