#include "device_sdk/client/met_gate.h"

#include <algorithm>
#include <charconv>

namespace coterie {
namespace {

constexpr size_t kTextMax = 512;  // of a reason or a detail

std::string one_line(std::string_view text) {
  std::string line(text.substr(0, kTextMax));
  std::ranges::replace_if(
      line, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return line;
}

template <typename T>
bool read_number(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::string to_text(const MetGate& met) {
  return "gate=" + std::string(to_string(met.gate)) + "\nreason=" + one_line(met.reason) +
         "\nround=" + std::to_string(met.round.round.value()) +
         "\nattempt=" + std::to_string(met.round.attempt.value()) +
         "\nsince_unix_ms=" + std::to_string(unix_ms(met.since)) + "\ndetail=" + one_line(met.detail) + "\n";
}

Result<MetGate> met_gate_from(std::string_view text) {
  MetGate met;
  bool has_gate = false;
  uint64_t round = 0;
  uint32_t attempt = 0;
  int64_t since = 0;
  const auto wrong = [](std::string_view line) {
    return Error(ErrorCode::data_loss, "gate: the line \"" + one_line(line) + "\" is none of a device's");
  };
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos) return wrong(line);
    const std::string_view key = line.substr(0, equals), value = line.substr(equals + 1);
    if (value.size() > kTextMax) return wrong(line.substr(0, equals));
    if (key == "gate") {
      const std::optional<DeviceGate> gate = device_gate_from(value);
      if (!gate) return wrong(line);
      met.gate = *gate;
      has_gate = true;
    } else if (key == "reason") {
      met.reason = value;
    } else if (key == "detail") {
      met.detail = value;
    } else if (key == "round") {
      if (!read_number(value, round)) return wrong(line);
    } else if (key == "attempt") {
      if (!read_number(value, attempt)) return wrong(line);
    } else if (key == "since_unix_ms") {
      if (!read_number(value, since)) return wrong(line);
    }
  }
  if (!has_gate) return Error(ErrorCode::data_loss, "gate: the file names no gate");
  met.round = {RoundId(round), Attempt(attempt)};
  met.since = wall_time_from_unix_ms(since);
  return met;
}

}  // namespace coterie
