#include "fl_server/records/round_why.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "base/assert.h"

namespace coterie {
namespace {

// Devices whose update may have been counted without their node having heard of it, the most likely first.
constexpr DeviceGate kOpen[] = {DeviceGate::uploading, DeviceGate::downloaded, DeviceGate::joined, DeviceGate::ticket};

uint64_t sum_of(const std::map<std::string, uint64_t>& devices) {
  return std::accumulate(devices.begin(), devices.end(), uint64_t{0},
                         [](uint64_t sum, const auto& entry) { return sum + entry.second; });
}

size_t place_of(const WhyLine& line) {
  const std::optional<DeviceGate> gate = device_gate_from(line.code);
  return gate ? static_cast<size_t>(*gate) : kDeviceGates;
}

}  // namespace

GateRow gate_row_of(const ToldGates& told, std::string life) {
  GateRow row{std::move(life), told.asked, {}};
  for (const auto& [code, devices] : told.devices) row.devices[name_of(code)] += devices;
  return row;
}

std::string gates_text(const GateRow& row) {
  std::string text;
  for (const auto& [name, devices] : row.devices) {
    if (!text.empty()) text += ' ';
    text += name + "=" + std::to_string(devices);
  }
  return text;
}

Result<GateRow> gate_row_from(std::string life, uint64_t asked, std::string_view text) {
  GateRow row{std::move(life), asked, {}};
  const auto damaged = [](const std::string& what) {
    return Error(ErrorCode::data_loss, "gates of a round: " + what + "; expected NAME=DEVICES, with blanks between");
  };
  while (!text.empty()) {
    const std::string_view entry = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), entry.size() + 1));
    const size_t equals = entry.find('=');
    if (equals == std::string_view::npos || equals == 0) return damaged("an entry without a name");
    uint64_t devices = 0;
    const char* const end = entry.data() + entry.size();
    const auto [read, error] = std::from_chars(entry.data() + equals + 1, end, devices);
    if (error != std::errc() || read != end) return damaged("an entry without a number");
    if (!row.devices.emplace(entry.substr(0, equals), devices).second) return damaged("a name stands twice");
  }
  if (sum_of(row.devices) != asked) return damaged("they do not sum to the devices that asked");
  return row;
}

RoundWhy why_of(std::span<const GateRow> rows, const CountedDevices& counted, bool is_over) {
  std::map<std::string, uint64_t> devices;
  for (const GateRow& row : rows) {
    for (const auto& [name, count] : row.devices) devices[name] += count;
  }
  const std::string waiting(to_string(DeviceGate::waiting)), gone(to_string(DeviceGate::gone));
  if (is_over) devices[gone] += std::exchange(devices[waiting], 0);
  uint64_t& said = devices[std::string(to_string(DeviceGate::counted))];
  for (const DeviceGate gate : kOpen) {
    uint64_t& open = devices[std::string(to_string(gate))];
    const uint64_t moved = said < counted.devices ? std::min(open, counted.devices - said) : 0;
    open -= moved;
    said += moved;
  }
  // Who is counted has asked, though nobody is left who says so; and once, though two say so.
  said = counted.is_final ? counted.devices : std::max(said, counted.devices);

  RoundWhy why;
  for (const auto& [name, count] : devices) {
    if (count == 0) continue;
    const size_t slash = std::min(name.find('/'), name.size());
    why.lines.push_back({name.substr(0, slash), name.substr(std::min(slash + 1, name.size())), count});
    why.asked += count;
  }
  std::ranges::stable_sort(why.lines, {}, place_of);
  const auto sum = [](uint64_t all, const WhyLine& line) { return all + line.devices; };
  COT_INVARIANT(std::accumulate(why.lines.begin(), why.lines.end(), uint64_t{0}, sum) == why.asked,
                "the codes of a round sum to the devices that asked");
  return why;
}

}  // namespace coterie
