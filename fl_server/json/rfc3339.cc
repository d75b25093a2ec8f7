#include "fl_server/json/rfc3339.h"

#include <algorithm>
#include <chrono>
#include <ctime>

namespace coterie {

std::string rfc3339(WallTime time) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(time.time_since_epoch());
  const time_t seconds = static_cast<time_t>(whole.count());
  struct tm fields {};
  gmtime_r(&seconds, &fields);
  char text[40];
  const size_t size = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &fields);
  std::string result(text, size);
  const std::string fraction = std::to_string((time.time_since_epoch() - whole).count());
  return result + "." + std::string(3 - fraction.size(), '0') + fraction + "Z";
}

std::optional<WallTime> parse_rfc3339(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00T00:00:00";
  const auto number = [](std::string_view digits) {  // of characters that are known to be digits
    int value = 0;
    for (const char digit : digits) value = value * 10 + (digit - '0');
    return value;
  };
  const auto has_form = [](std::string_view given, std::string_view form) {
    return given.size() == form.size() &&
           std::ranges::equal(given, form, [](char c, char f) { return f == '0' ? c >= '0' && c <= '9' : c == f; });
  };
  if (!text.ends_with('Z')) return std::nullopt;
  text.remove_suffix(1);
  int ms = 0;
  if (has_form(text.substr(std::min(kForm.size(), text.size())), ".000")) {
    ms = number(text.substr(kForm.size() + 1));
    text = text.substr(0, kForm.size());
  }
  if (!has_form(text, kForm)) return std::nullopt;
  const auto field = [&](size_t at, size_t count) { return number(text.substr(at, count)); };
  const std::chrono::year_month_day date(std::chrono::year(field(0, 4)),
                                         std::chrono::month(static_cast<unsigned>(field(5, 2))),
                                         std::chrono::day(static_cast<unsigned>(field(8, 2))));
  const int hour = field(11, 2), minute = field(14, 2), second = field(17, 2);
  if (!date.ok() || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  const int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return wall_time_from_unix_ms((((days * 24 + hour) * 60 + minute) * 60 + second) * 1000 + ms);
}

}  // namespace coterie
