// The two ways in which S3 writes times.
#include <array>
#include <charconv>
#include <chrono>

#include "fl_server/store/s3/answers.h"

namespace coterie::s3 {
namespace {

constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

// All digits of text[first, first + count); -1: there is something else.
int number(std::string_view text, size_t first, size_t count) {
  int value = 0;
  for (const char c : text.substr(first, count)) {
    if (c < '0' || c > '9') return -1;
    value = value * 10 + (c - '0');
  }
  return value;
}

// Whether text is `form`, where a # stands for any one character.
bool has_form(std::string_view text, std::string_view form) {
  if (text.size() != form.size()) return false;
  for (size_t i = 0; i < form.size(); ++i) {
    if (form[i] != '#' && form[i] != text[i]) return false;
  }
  return true;
}

std::optional<WallTime> wall_time(int year, int month, int day, int hour, int minute, int second, int milli) {
  if (year < 1970 || month < 1 || day < 1 || hour < 0 || minute < 0 || second < 0 || milli < 0) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok() || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  const auto days = std::chrono::sys_days(date).time_since_epoch();
  return WallTime(std::chrono::duration_cast<Millis>(days) + std::chrono::hours(hour) + std::chrono::minutes(minute) +
                  std::chrono::seconds(second) + Millis(milli));
}

}  // namespace

std::optional<WallTime> parse_http_date(std::string_view text) {
  if (!has_form(text, "###, ## ### #### ##:##:## GMT")) return std::nullopt;
  int month = 0;
  for (size_t i = 0; i < kMonths.size(); ++i) {
    if (text.substr(8, 3) == kMonths[i]) month = static_cast<int>(i) + 1;
  }
  return wall_time(number(text, 12, 4), month, number(text, 5, 2), number(text, 17, 2), number(text, 20, 2),
                   number(text, 23, 2), 0);
}

std::optional<WallTime> parse_iso_time(std::string_view text) {
  const bool has_millis = has_form(text, "####-##-##T##:##:##.###Z");
  if (!has_millis && !has_form(text, "####-##-##T##:##:##Z")) return std::nullopt;
  return wall_time(number(text, 0, 4), number(text, 5, 2), number(text, 8, 2), number(text, 11, 2), number(text, 14, 2),
                   number(text, 17, 2), has_millis ? number(text, 20, 3) : 0);
}

}  // namespace coterie::s3
