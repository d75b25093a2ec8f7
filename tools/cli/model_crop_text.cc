#include "tools/cli/model_crop_text.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "proto/messages/model.h"
#include "proto/messages/plan.h"
#include "tools/cli/table.h"
#include "tools/crop/client_parts.h"

namespace coterie {
namespace {

template <typename Kinds>
std::string names_of(const Kinds& kinds) {
  std::string names;
  for (const auto kind : kinds) names += (names.empty() ? "" : ", ") + std::string(to_string(kind));
  return names;
}

std::string kib(uint64_t bytes) { return format_fixed(static_cast<double>(bytes) / 1024, 1); }

using Sizes = std::map<std::string, uint64_t>;

// Largest first.
std::vector<std::pair<std::string, uint64_t>> sorted(const Sizes& sizes) {
  std::vector<std::pair<std::string, uint64_t>> rows(sizes.begin(), sizes.end());
  std::ranges::stable_sort(rows, [](const auto& a, const auto& b) { return a.second > b.second; });
  return rows;
}

uint64_t sum(const Sizes& sizes) {
  uint64_t all = 0;
  for (const auto& [name, bytes] : sizes) all += bytes;
  return all;
}

std::string kernels_text(const ClientParts& parts) {
  Sizes files, levels;
  for (const auto& [file, of_level] : parts.kernels) {
    files[file] = sum(of_level);
    for (const auto& [level, bytes] : of_level) levels[level] += bytes;
  }
  std::vector<Table::Column> columns = {{"KERNELS"}};
  for (const auto& [level, bytes] : levels) columns.push_back({level, Table::Align::right});
  columns.push_back({"KIB", Table::Align::right});
  Table table(columns);
  const auto add = [&](const std::string& name, const Sizes& of_level) {
    std::vector<std::string> cells = {name};
    for (const auto& [level, bytes] : levels) {
      const auto found = of_level.find(level);
      cells.push_back(found == of_level.end() ? "" : kib(found->second));
    }
    cells.push_back(kib(sum(of_level)));
    table.add(cells);
  };
  for (const auto& [file, bytes] : sorted(files)) add(file, parts.kernels.at(file));
  add("all", levels);
  return table.text();
}

std::string others_text(const BuiltClient& client, const ClientParts& parts) {
  Table table({{"PART"}, {"KIB", Table::Align::right}});
  for (const auto& [rule, bytes] : sorted(parts.rules)) table.add({"rule of " + rule, kib(bytes)});
  for (const auto& [name, bytes] : sorted(parts.others)) table.add({name, kib(bytes)});
  if (client.bytes > parts.bytes()) table.add({"headers and gaps", kib(client.bytes - parts.bytes())});
  return table.text();
}

}  // namespace

std::string crop_needs_text(const CropNeeds& needs) {
  Table ops({{"OP"}, {"COUNT", Table::Align::right}});
  for (const auto& [kind, count] : needs.ops) ops.add({std::string(to_string(kind)), format_count(count)});
  std::string text = ops.text();
  if (!needs.ways.empty()) {
    Table ways({{"WAY OF CONVOLUTION"}, {"COUNT", Table::Align::right}});
    for (const auto& [way, count] : needs.ways) ways.add({std::string(to_string(way)), format_count(count)});
    text += "\n" + ways.text();
  }
  if (!needs.losses.empty()) text += "losses: " + names_of(needs.losses) + "\n";
  if (!needs.optimizers.empty()) text += "optimizers: " + names_of(needs.optimizers) + "\n";
  return text;
}

std::string crop_commands_text(const std::string& list) {
  const std::string path = std::filesystem::absolute(list).lexically_normal().string();
  return "cmake --preset engine " + shell_word("-DCOTERIE_OPS_FROM=" + path) + " && cmake --build --preset engine\n";
}

std::string crop_client_text(const BuiltClient& client) {
  const ClientParts parts = parts_of(client.pieces, client.rules);
  const uint64_t size_kib = (client.bytes + 1023) / 1024;
  return kernels_text(parts) + "\n" + others_text(client, parts) + "\n" + printable(client.program) + ": " +
         format_count(size_kib) + " KiB, " + counted(client.ops.size(), "op") + ", " +
         counted(client.kernels.size(), "kernel") + "; it takes every model\n";
}

nlohmann::json crop_json(const CropNeeds& needs, const std::optional<BuiltClient>& client) {
  nlohmann::json json{{"ops", nlohmann::json::object()},
                      {"ways", nlohmann::json::object()},
                      {"losses", nlohmann::json::array()},
                      {"optimizers", nlohmann::json::array()}};
  for (const auto& [kind, count] : needs.ops) json["ops"][std::string(to_string(kind))] = count;
  for (const auto& [way, count] : needs.ways) json["ways"][std::string(to_string(way))] = count;
  for (const Loss loss : needs.losses) json["losses"].push_back(to_string(loss));
  for (const OptimizerKind kind : needs.optimizers) json["optimizers"].push_back(to_string(kind));
  if (!client) return json;
  const ClientParts parts = parts_of(client->pieces, client->rules);
  json["kernels"] = client->kernels;
  json["client"] = {{"bytes", client->bytes},
                    {"kernel_bytes", parts.kernels},
                    {"rule_bytes", parts.rules},
                    {"other_bytes", parts.others}};
  return json;
}

}  // namespace coterie
