#include "tools/vertical/job_commands.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "tools/cli/interrupt.h"
#include "tools/cli/table.h"
#include "tools/vertical/job_folder.h"
#include "tools/vertical/party.h"
#include "vertical/coordinator/coordinator_client.h"

namespace coterie {
namespace {

constexpr std::array<const char*, 6> kCommandNames = {"submit", "approve", "status", "cancel", "pause", "resume"};

}  // namespace

Result<vertical::JobView> run_job_command(JobCommand command, const PartyConfig& config) {
  if (!config.coordinator) {
    return Error(ErrorCode::invalid_argument, "the configuration has no coordinator: this party meets its peer itself");
  }
  COT_ASSIGN(const ApprovedManifest approved, read_approved_manifest(config));
  vertical::Request request{.kind = vertical::RequestKind::status, .job = approved.manifest.job};
  switch (command) {
    case JobCommand::submit:
      request.kind = vertical::RequestKind::submit;
      request.manifest = approved.text;
      break;
    case JobCommand::approve: {
      request.kind = vertical::RequestKind::approve;
      request.digest = config.approved;
      COT_ASSIGN(request.signature,
                 vertical::sign_approval(config.tls.key_file, approved.manifest.job, config.approved));
      break;
    }
    case JobCommand::status: break;
    case JobCommand::cancel: request.kind = vertical::RequestKind::cancel; break;
    case JobCommand::pause: request.kind = vertical::RequestKind::pause; break;
    case JobCommand::resume: request.kind = vertical::RequestKind::resume; break;
  }
  return vertical::ask_coordinator(*config.coordinator, request,
                                   {.time = config.patience, .cancel = Interrupt::flag()});
}

ExitCode run_job_command(JobCommand command, const std::string& config_file, bool json) {
  const Result<PartyConfig> config = read_party_config(config_file);
  const Result<vertical::JobView> view =
      config ? run_job_command(command, *config) : Result<vertical::JobView>(config.error());
  if (view) {
    std::fputs((json ? job_view_json(*view) : job_text(*view)).c_str(), stdout);
    return ExitCode::ok;
  }
  const Error& error = view.error();
  const std::string reason = error.reason().empty() ? "" : " (" + std::string(error.reason()) + ")";
  std::fprintf(stderr, "coterie vertical %s: %s%s\n", kCommandNames[static_cast<size_t>(command)],
               printable(error.message()).c_str(), reason.c_str());
  return config ? exit_code_of(error.code()) : ExitCode::usage;
}

std::string job_text(const vertical::JobView& view) {
  std::string text = "job " + to_hex(view.job) + ": " + std::string(vertical::job_state_name(view.state));
  if (!view.reason.empty()) text += " (" + view.reason + ")";
  text += "\nmanifest " + view.manifest.hex() + "\n\n";
  Table table({{"party"}, {"name"}, {"approved"}, {"paused"}, {"done"}, {"relayed", Table::Align::right}});
  for (vertical::PartyIndex i = 0; i < view.parties.size(); ++i) {
    const vertical::JobView::Party& party = view.parties[i];
    table.add({vertical::party_role(i), party.name, party.is_approved ? "yes" : "no", party.is_paused ? "yes" : "no",
               party.is_done ? "yes" : "no", format_bytes(party.relayed_bytes)});
  }
  return text + table.text();
}

std::string job_view_json(const vertical::JobView& view) {
  nlohmann::ordered_json json = {{"job", to_hex(view.job)},
                                 {"manifest_sha256", view.manifest.hex()},
                                 {"state", vertical::job_state_name(view.state)},
                                 {"reason", view.reason}};
  for (vertical::PartyIndex i = 0; i < view.parties.size(); ++i) {
    const vertical::JobView::Party& party = view.parties[i];
    json[job_party_key(i)] = {{"name", party.name},
                              {"approved", party.is_approved},
                              {"paused", party.is_paused},
                              {"done", party.is_done},
                              {"relayed_bytes", party.relayed_bytes}};
  }
  return json.dump(2) + "\n";
}

}  // namespace coterie
