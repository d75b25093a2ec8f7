#include "tools/cli/vertical_job_commands.h"

#include <nlohmann/json.hpp>

#include "tools/cli/report.h"
#include "tools/cli/table.h"
#include "tools/cli/wrap.h"

namespace coterie {
namespace {

using nlohmann::json;

constexpr int kColumns = 80;

std::string path_of(const std::string& job) { return "vertical-jobs/" + path_segment(job); }

// A word of a text that comes from the server, or "-".
std::string word(const json& of, const char* pointer) { return printable(cell_of(of, pointer)); }
std::string yes(const json& of, const char* key) { return of.value(key, false) ? "yes" : "no"; }

std::string state_of(const json& job) {
  return word(job, "/state") + (job.contains("reason") ? " (" + word(job, "/reason") + ")" : "");
}

std::string names_of(const json& job, bool approved_alone) {
  std::string names;
  for (const json& party : job.value("parties", json::array())) {
    if (!approved_alone || party.value("approved", false)) names += (names.empty() ? "" : ", ") + word(party, "/name");
  }
  return names.empty() ? "-" : names;
}

void print_vertical_job(const json& job) {
  using enum Table::Align;
  Table parties({{"PARTY"}, {"NAME"}, {"APPROVED"}, {"PAUSED"}, {"DONE"}, {"RELAYED", right}});
  for (const json& party : job.value("parties", json::array())) {
    parties.add({word(party, "/role"), word(party, "/name"), yes(party, "approved"), yes(party, "paused"),
                 yes(party, "done"), format_bytes(party.value("relayed_bytes", uint64_t{0}))});
  }
  Table stages({{"STAGE"}, {"PARTY"}, {"BEGUN"}, {"DONE", right}, {"LEFT", right}, {"SENT", right}});
  for (const json& stage : job.value("stages", json::array())) {
    const bool is_over = stage.value("over", false), is_counted = stage.contains("units_all");
    const std::string units = is_counted ? word(stage, "/units") + " of " + word(stage, "/units_all") : "-";
    stages.add({word(stage, "/stage"), word(stage, "/role"), short_time(word(stage, "/begun")), is_over ? "all" : units,
                stage.contains("seconds_left") ? format_seconds(stage.value("seconds_left", 0.0)) : "-",
                format_bytes(stage.value("sent_bytes", uint64_t{0}))});
  }
  std::string leakage;
  for (const json& row : job.value("leakage", json::array())) {
    leakage += "\n" + word(row, "/id") + " " + word(row, "/stage");
    for (const auto& [who, pointer] : {std::pair("label party", "/label_party_learns"),
                                       {"feature party", "/feature_party_learns"},
                                       {"coordinator", "/coordinator"}}) {
      const std::string learns = word(row, pointer);
      if (learns != "-") leakage += "\n   " + wrapped(std::string(who) + ": " + learns, kColumns - 3, 5);
    }
  }
  print_text("job       " + word(job, "/id") + ": " + state_of(job) + "\nkind      " + word(job, "/manifest_kind") +
             "\nmanifest  " + word(job, "/manifest") + "\nchanged   " + short_time(word(job, "/changed")) + "\n\n" +
             parties.text() + (stages.empty() ? "" : "\n" + stages.text()) +
             (leakage.empty() ? "" : "\nWhat each party learns of the other, by row of the ledger" + leakage + "\n"));
}

void print_answer(const AdminCommand& command, const json& job) {
  if (command.wants_json()) print_json(job);
  else print_vertical_job(job);
}

}  // namespace

ExitCode list_vertical_jobs(const AdminCommand& command) {
  return with_admin(command, "vertical list", [&](AdminClient& admin) -> Status {
    COT_ASSIGN(const json answer, admin.get_pages("vertical-jobs?limit=1000", "vertical_jobs"));
    if (command.wants_json()) {
      print_json(answer);
      return {};
    }
    Table table({{"JOB"}, {"KIND"}, {"STATE"}, {"PARTIES"}, {"APPROVED BY"}, {"CHANGED"}});
    for (const json& job : answer.value("vertical_jobs", json::array())) {
      table.add({word(job, "/id"), word(job, "/manifest_kind"), state_of(job), names_of(job, false),
                 names_of(job, true), short_time(word(job, "/changed"))});
    }
    if (!table.empty()) print_text(table.text());
    else if (answer.value("coordinator", false)) print_text("no vertical jobs\n");
    else print_text("no vertical jobs: this server is the operator of no coordinator that is yours to see\n");
    return {};
  });
}

ExitCode show_vertical_job(const AdminCommand& command, const std::string& job) {
  return with_admin(command, "vertical status", [&](AdminClient& admin) -> Status {
    COT_ASSIGN(const json answer, admin.get(path_of(job)));
    print_answer(command, answer);
    return {};
  });
}

ExitCode change_vertical_job(const AdminCommand& command, const std::string& job, const std::string& verb) {
  return with_admin(command, "vertical " + verb, [&](AdminClient& admin) -> Status {
    COT_ASSIGN(const json answer, admin.post(path_of(job) + ":" + verb));
    print_answer(command, answer);
    return {};
  });
}

}  // namespace coterie
