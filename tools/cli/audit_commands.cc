#include "tools/cli/audit_commands.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "tools/admin/audit_records.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"

namespace coterie {

ExitCode list_audit(const AdminCommand& command, const AuditListOptions& options) {
  return with_admin(command, "audit list", [&](AdminClient& admin) -> Status {
    std::string target = "audit?limit=" + std::to_string(options.limit) + "&after=" + std::to_string(options.after);
    if (!options.who.empty()) target += "&who=" + path_segment(options.who);
    if (!options.action.empty()) target += "&action=" + path_segment(options.action);
    if (!options.since.empty()) target += "&since=" + path_segment(options.since);
    if (!options.until.empty()) target += "&until=" + path_segment(options.until);
    COT_ASSIGN(const nlohmann::json answer, admin.get(target));
    if (command.wants_json()) {
      print_json(answer);
      return {};
    }
    Table table({{"NUMBER", Table::Align::right}, {"TIME"}, {"WHO"}, {"ACTION"}, {"TARGET"}, {"OUTCOME"}, {"REQUEST"}});
    for (const nlohmann::json& record : answer.value("records", nlohmann::json::array())) {
      const std::string outcome = cell_of(record, "/outcome");
      table.add({cell_of(record, "/seq"), short_time(cell_of(record, "/time")), cell_of(record, "/who"),
                 cell_of(record, "/action"), cell_of(record, "/target"), outcome == "0" ? "begun" : outcome,
                 cell_of(record, "/request")});
    }
    print_text(table.empty() ? "no such records\n" : table.text());
    if (answer.contains("next_after"))
      print_text("... go on with --after " + printable(cell_of(answer, "/next_after")) + "\n");
    return {};
  });
}

ExitCode verify_audit_log(const AdminCommand& command, const std::string& head) {
  std::optional<AuditHead> noted;
  if (!head.empty()) {
    const Result<AuditHead> parsed = AuditHead::parse(head);
    if (!parsed) {
      print_error("audit verify", parsed.error());
      return ExitCode::usage;
    }
    noted = *parsed;
  }
  return with_admin(command, "audit verify", [&](AdminClient& admin) -> Status {
    COT_ASSIGN(const VerifiedAudit verified,
               verify_audit([&](const std::string& target) { return admin.get(target); }, noted));
    const AuditHead& reached = verified.head;
    const uint64_t records = reached.seq - verified.begin.seq;
    if (command.wants_json()) {
      nlohmann::json json = {{"records", records}, {"head", reached.text()}, {"noted", head}};
      if (verified.begin.seq > 0) json["begins_after"] = verified.begin.text();
      print_json(json);
      return {};
    }
    print_text(reached.text() + "\n");
    if (verified.begin.seq > 0) {
      std::fprintf(stderr,
                   "The server has no records up to %llu any more, but their seal, %s:\nwhat follows was checked from "
                   "there on.\n",
                   static_cast<unsigned long long>(verified.begin.seq), verified.begin.text().c_str());
    }
    std::fprintf(stderr,
                 "%s, one behind the other as they were written%s.\nNote the line above elsewhere, and check "
                 "against it next time: coterie audit verify --head %s\n",
                 counted(records, "record").c_str(), noted ? ", and the head that was noted is among them" : "",
                 reached.text().c_str());
    return {};
  });
}

}  // namespace coterie
