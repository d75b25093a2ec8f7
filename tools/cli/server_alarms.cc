#include "tools/cli/server_alarms.h"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "tools/cli/admin_command.h"
#include "tools/cli/table.h"
#include "tools/cli/wrap.h"

namespace coterie {
namespace {

using nlohmann::json;

constexpr int kColumns = 80, kIndent = 2, kReasonColumns = 40;

// What is refused, as the answer and as people have it.
constexpr std::array<std::pair<const char*, const char*>, 5> kRefused = {{{"requests", "request"},
                                                                          {"checkins", "check-in"},
                                                                          {"plans", "plan, by a device"},
                                                                          {"held", "work, by a device"},
                                                                          {"updates", "update"}}};

std::string line(const std::string& text) {
  return std::string(kIndent, ' ') + wrapped(printable(text), kColumns - kIndent, kIndent) + "\n";
}

}  // namespace

std::string alarms_text(const json& server) {
  std::string text;
  for (const json& alarm : server.value("alarms", json::array())) {
    const std::string of = alarm.contains("of") ? " of " + cell_of(alarm, "/of") : "";
    text += "\n" +
            shortened("ALARM (" + cell_of(alarm, "/severity") + ") " + cell_of(alarm, "/name") + of + ", since " +
                          short_time(cell_of(alarm, "/since")),
                      kColumns) +
            "\n";
    for (const char* part : {"/summary", "/action", "/guide"}) text += line(cell_of(alarm, part));
  }
  return text;
}

std::string refusals_text(const json& server) {
  Table table({{"REFUSED"}, {"REASON"}, {"TIMES", Table::Align::right}});
  const json refusals = server.value("refusals", json::object());
  for (const auto& [key, what] : kRefused) {
    const json by_reason = refusals.value(key, json::object());
    for (const auto& [reason, times] : by_reason.items())
      table.add({what, shortened(reason, kReasonColumns), times.dump()});
  }
  return table.empty() ? "" : "\n" + table.text();
}

}  // namespace coterie
