#include "tools/cli/job_why.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/cli/report.h"
#include "tools/cli/table.h"

namespace coterie {
namespace {

using nlohmann::json;

constexpr uint64_t kBarMax = 20;  // characters

std::string counted(uint64_t count, const std::string& thing) {
  return std::to_string(count) + " " + thing + (count == 1 ? "" : "s");
}

// So that a device more than none is seen.
std::string bar(uint64_t part, uint64_t whole) {
  if (part == 0 || whole == 0) return "";
  return std::string(std::max<uint64_t>(1, (part * kBarMax + whole / 2) / whole), '#');
}

Result<uint64_t> newest_round(AdminClient& admin, const std::string& job) {
  COT_ASSIGN(const json answer, admin.get("jobs/" + path_segment(job) + "/rounds?limit=1"));
  const json rounds = answer.value("rounds", json::array());
  if (!rounds.empty()) return rounds.front().value("number", uint64_t{0});
  return Error(ErrorCode::not_found, "job " + job + " has no round yet");
}

void print_attempt(const std::string& title, const json& attempt) {
  using enum Table::Align;
  const auto asked = attempt.value("asked", uint64_t{0});
  const std::string state = printable(cell_of(attempt, "/state"));
  print_text(title + ", attempt " + cell_of(attempt, "/attempt") + " (" + state + "): " + counted(asked, "device") +
             " asked\n");
  Table table({{"DEVICES", right}, {""}, {"CODE"}, {"THEY"}});
  for (const json& code : attempt.value("codes", json::array())) {
    const auto devices = code.value("devices", uint64_t{0});
    const std::string reason = code.value("reason", "");
    table.add({std::to_string(devices), bar(devices, asked),
               cell_of(code, "/code") + (reason.empty() ? "" : "/" + reason), code.value("meaning", "")});
  }
  if (!table.empty()) print_text(table.text());
}

}  // namespace

ExitCode show_round_why(const AdminCommand& command, const std::string& job, uint64_t round) {
  return with_admin(command, "job why", [&](AdminClient& admin) -> Status {
    uint64_t number = round;
    if (number == 0) {
      COT_ASSIGN(number, newest_round(admin, job));
    }
    COT_ASSIGN(const json why, admin.get("jobs/" + path_segment(job) + "/rounds/" + std::to_string(number) + "/why"));
    if (command.wants_json()) {
      print_json(why);
      return {};
    }
    for (const json& attempt : why.value("attempts", json::array())) {
      print_attempt("round " + std::to_string(number), attempt);
    }
    return {};
  });
}

}  // namespace coterie
