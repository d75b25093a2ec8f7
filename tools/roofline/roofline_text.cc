#include "tools/roofline/roofline_text.h"

#include <nlohmann/json.hpp>

#include "tools/cli/table.h"

namespace coterie {
namespace {

constexpr int kNameColumns = 12;  // with it a line has at most 80

// Three digits that count, in six columns at most: 1.23, 123, 12345.
std::string short_number(double value) {
  if (value <= 0) return "";
  return format_fixed(value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
}

std::string table_of(const std::vector<RoofedOp>& ops, const char* title, bool has_names) {
  using enum Table::Align;
  Table table({{title},
               {"us", right},
               {"MFLOP", right},
               {"FLOP/B", right},
               {"GFLOP/s", right},
               {"GB/s", right},
               {"ROOF", right},
               {"SHARE", right},
               {"BOUND"}});
  for (const RoofedOp& op : ops) {
    const RoofedTime all = op.all();
    const std::string& name = has_names && !op.name.empty() ? op.name : op.kind;
    const double bytes = static_cast<double>(all.bytes);
    table.add({shortened_in_middle(name, kNameColumns), short_number(all.seconds * 1e6), short_number(all.flops / 1e6),
               short_number(all.intensity()), short_number(all.flops / all.seconds / 1e9),
               short_number(bytes / all.seconds / 1e9), short_number(all.roof() / 1e9), format_percent(all.share()),
               std::string(to_string(all.bound()))});
  }
  return table.text();
}

std::string size_text(uint64_t bytes) {
  return bytes < (1 << 20) ? std::to_string(bytes >> 10) + " KiB" : std::to_string(bytes >> 20) + " MiB";
}

std::string peaks_text(const MachinePeaks& peaks) {
  std::string text = "at most " + short_number(peaks.flops_per_second / 1e9) + " GFLOP/s" +
                     (peaks.memory.size() > 1 ? "\n" : "; ") + "GB/s of";
  for (size_t i = 0; i < peaks.memory.size(); ++i) {
    const MemoryRate& rate = peaks.memory[i];
    const std::string of = peaks.memory.size() == 1 ? " memory" : " " + size_text(rate.working_set);
    text += (i == 0 ? "" : ",") + of + " " + short_number(rate.bytes_per_second / 1e9);
  }
  return text + "\n";
}

nlohmann::json json_of(const RoofedTime& time) {
  return {{"seconds", time.seconds},       {"flops", time.flops},
          {"bytes", time.bytes},           {"least_seconds", time.least_seconds()},
          {"intensity", time.intensity()}, {"roof_flops_per_second", time.roof()},
          {"share", time.share()},         {"bound", to_string(time.bound())}};
}

nlohmann::json json_of(const std::vector<RoofedOp>& ops, bool has_names) {
  nlohmann::json list = nlohmann::json::array();
  for (const RoofedOp& op : ops) {
    nlohmann::json& each = list.emplace_back(json_of(op.all()));
    each["kind"] = op.kind;
    if (has_names) each["name"] = op.name;
    each["forward"] = json_of(op.forward);
    each["backward"] = json_of(op.backward);
  }
  return list;
}

}  // namespace

std::string roofline_text(const std::vector<RoofedOp>& ops, const MachinePeaks& peaks) {
  const RoofedTime sum = sum_of(ops);
  return peaks_text(peaks) + "\n" + table_of(by_kind(ops), "KIND", false) + "\n" + table_of(ops, "OP", true) +
         "\nall ops: " + format_percent(sum.share()) + " of the roof; " +
         format_percent(sum.least_seconds() > 0 ? sum.compute_seconds / sum.least_seconds() : 0) +
         " of the least time is computing\n";
}

nlohmann::json roofline_json(const std::vector<RoofedOp>& ops, const MachinePeaks& peaks) {
  nlohmann::json memory = nlohmann::json::array();
  for (const MemoryRate& rate : peaks.memory) {
    memory.push_back({{"working_set_bytes", rate.working_set}, {"bytes_per_second", rate.bytes_per_second}});
  }
  return {{"peaks", {{"flops_per_second", peaks.flops_per_second}, {"memory", std::move(memory)}}},
          {"all", json_of(sum_of(ops))},
          {"kinds", json_of(by_kind(ops), false)},
          {"ops", json_of(ops, true)}};
}

}  // namespace coterie
