#include "tools/device/conditions_file.h"

#include <algorithm>
#include <charconv>

#include "base/log.h"
#include "base/os/file.h"
#include "proto/messages/device_requirements.h"
#include "tools/cli/byte_count.h"
#include "tools/device/log_line.h"

namespace coterie {
namespace {

constexpr uint64_t kFileBytesMax = 4096;
constexpr Millis kLookEvery{1'000};

Error bad(std::string_view line, const std::string& what) {
  return Error(ErrorCode::invalid_argument, "conditions: \"" + std::string(line) + "\": " + what);
}

Result<uint32_t> parse_answer(std::string_view line, std::string_view value) {
  if (value == "unknown") return COTERIE_ANSWER_UNKNOWN;
  if (value == "no") return COTERIE_ANSWER_NO;
  if (value == "yes") return COTERIE_ANSWER_YES;
  return bad(line, "must be yes, no or unknown");
}

Status parse_line(std::string_view line, coterie_conditions& into) {
  const size_t mark = line.find('=');
  if (mark == std::string_view::npos) return bad(line, "has no `=`");
  const std::string_view name = line.substr(0, mark), value = line.substr(mark + 1);
  for (const auto& [answer, member] : {std::pair("idle", &coterie_conditions::idle),
                                       {"charging", &coterie_conditions::charging},
                                       {"unmetered", &coterie_conditions::unmetered},
                                       {"foreground", &coterie_conditions::foreground}}) {
    if (name != answer) continue;
    COT_ASSIGN(into.*member, parse_answer(line, value));
    return {};
  }
  if (name == "battery_percent") {
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), into.battery_percent);
    const bool is_number = error == std::errc() && end == value.data() + value.size();
    return is_number && into.battery_percent <= 100 ? Status() : bad(line, "must be a number from 0 to 100");
  }
  if (name == "thermal") {
    for (uint32_t state = 0; state < kThermalStateNames.size(); ++state) {
      if (value != kThermalStateNames[state]) continue;
      into.thermal = state;
      return {};
    }
    return bad(line, "must be unknown, nominal, fair, serious or critical");
  }
  if (name == "free_memory") {
    COT_ASSIGN(into.free_memory_bytes, parse_byte_count(value));
    return {};
  }
  return bad(line, "there is no such condition");
}

}  // namespace

Result<coterie_conditions> parse_conditions(std::string_view text) {
  coterie_conditions conditions{};
  conditions.struct_size = sizeof conditions;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.empty() && line.front() != '#') COT_TRY(parse_line(line, conditions));
  }
  return conditions;
}

ConditionsWatch::ConditionsWatch(std::string path, coterie_client* client) : path_(std::move(path)), client_(client) {
  if (path_.empty()) return;
  look();
  thread_ = std::thread([this] {
    std::unique_lock lock(mutex_);
    while (!ended_.wait_for(lock, kLookEvery, [this] { return is_over_; })) look();
  });
}

ConditionsWatch::~ConditionsWatch() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  ended_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void ConditionsWatch::look() {
  const Result<Bytes> file = os::read_file(path_, kFileBytesMax);
  const std::string text = file ? std::string(as_text(*file)) : "cannot be read: " + file.error().message();
  if (text == newest_) return;
  newest_ = text;
  Result<coterie_conditions> said = file ? parse_conditions(text) : Result<coterie_conditions>(file.error());
  if (!said) {
    const LogField fields[] = {{"error", said.error().message()}};
    write_line(to_json_line(LogLevel::warning, "conditions_not_read", fields));
    said = parse_conditions("");
  }
  (void)coterie_client_set_conditions(client_, &*said);
}

}  // namespace coterie
