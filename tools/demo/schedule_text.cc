#include "tools/demo/schedule_text.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace coterie {
namespace {

Error bad(const std::string& what) { return Error(ErrorCode::invalid_argument, what); }

template <typename Number>
bool read(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

Status set_field(RateSchedule& schedule, std::string_view field) {
  const size_t equals = field.find('=');
  const std::string_view key = field.substr(0, equals);
  const std::string_view value = equals == field.npos ? "" : field.substr(equals + 1);
  bool is_known = true, is_number = false;
  if (key == "warmup") is_number = read(value, schedule.warmup_rounds);
  else if (key == "period") is_number = read(value, schedule.period);
  else if (key == "gamma") is_number = read(value, schedule.gamma);
  else if (key == "min") is_number = read(value, schedule.min);
  else is_known = false;
  if (!is_known) return bad("knows warmup, period, gamma and min, not " + std::string(key));
  if (!is_number) return bad(std::string(key) + " needs a number, has \"" + std::string(value) + "\"");
  return {};
}

}  // namespace

Result<RateSchedule> parse_rate_schedule(std::string_view text) {
  const std::string_view name = text.substr(0, text.find(':'));
  const auto found = std::ranges::find(rate_schedule_names(), name);
  if (found == rate_schedule_names().end()) {
    return bad("must be constant, step, exponential or cosine, is " + std::string(name));
  }
  RateSchedule schedule;
  schedule.kind = static_cast<RateScheduleKind>(found - rate_schedule_names().begin());
  std::string_view fields = name.size() == text.size() ? "" : text.substr(name.size() + 1);
  while (!fields.empty()) {
    const size_t comma = fields.find(',');
    COT_TRY(set_field(schedule, fields.substr(0, comma)));
    fields = comma == fields.npos ? "" : fields.substr(comma + 1);
  }
  return schedule;
}

}  // namespace coterie
