#include "tools/cli/node_commands.h"

#include <nlohmann/json.hpp>

#include "tools/cli/report.h"
#include "tools/cli/table.h"

namespace coterie {
namespace {

std::string state_of(const nlohmann::json& node) {
  if (node.value("draining", false)) return "leaving";
  return node.value("serves_devices", false) ? "serves devices" : "no devices";
}

}  // namespace

std::string nodes_text(const nlohmann::json& answer) {
  Table table({{"NODE"},
               {"LEADS"},
               {"STATE"},
               {"STARTED"},
               {"HEARD", Table::Align::right},
               {"WAITING", Table::Align::right},
               {"LOAD", Table::Align::right},
               {"ROUNDS", Table::Align::right}});
  for (const nlohmann::json& node : answer.value("nodes", nlohmann::json::array())) {
    table.add({cell_of(node, "/node"), node.value("leads", false) ? "leads" : "", state_of(node),
               short_time(cell_of(node, "/started")), format_seconds(node.value("seconds_since_heard", 0.0)) + " ago",
               cell_of(node, "/devices_waiting"), format_percent(node.value("/load/highest"_json_pointer, 0.0)),
               std::to_string(node.value("rounds", nlohmann::json::array()).size())});
  }
  return table.empty() ? "no node was heard of: a server with a database of its own is no fleet\n" : table.text();
}

ExitCode list_nodes(const AdminCommand& command) {
  return with_admin(command, "node list", [&](AdminClient& admin) -> Status {
    COT_ASSIGN(const nlohmann::json answer, admin.get("nodes"));
    if (command.wants_json()) print_json(answer);
    else print_text(nodes_text(answer));
    return {};
  });
}

}  // namespace coterie
