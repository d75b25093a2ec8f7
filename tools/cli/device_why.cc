#include "tools/cli/device_why.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "device_sdk/client/met_gate.h"
#include "fl_server/json/rfc3339.h"
#include "proto/messages/refusal.h"
#include "tools/cli/admin_command.h"
#include "tools/cli/help.h"
#include "tools/cli/local_files.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"
#include "tools/cli/wrap.h"

namespace coterie {
namespace {

constexpr const char* kCommand = "device why";
constexpr uint64_t kGateBytesMax = 4096;
constexpr int kColumns = 80, kIndent = 9;

struct Advice {
  std::string_view code, says;
};

// What to do about a reason, of a plan or of what holds a device back; `coterie_policy` and `coterie_requirements`
// are the app's.
constexpr Advice kOfReasons[] = {
    {refusal_reason::kSecurityLevel, "Run the job at the app's security_level_min or above, or let the app ask less."},
    {refusal_reason::kCohortMin, "Raise privacy.cohort_min of the job, or let the app ask for fewer devices."},
    {refusal_reason::kEpsilonRound, "Take more noise in the job, or raise the app's epsilon_round_max."},
    {refusal_reason::kEpsilonTotal,
     "The device has spent what its app allows: raise epsilon_total_max, or use others."},
    {refusal_reason::kDelta, "The device has spent what its app allows: raise delta_max, or use others."},
    {refusal_reason::kSeparation, "Nothing: it may take part again in a later round."},
    {refusal_reason::kCorruptShare, "Raise privacy.corrupt_share of the job, or lower the app's corrupt_share_min."},
    {refusal_reason::kAttempts, "Nothing: the next round is another one."},
    {refusal_reason::kOpenings, "It has given its answer openings_max times: use other devices, or allow more."},
    {refusal_reason::kCertificate, "Get the device a certificate of the authority that it trusts."},
    {refusal_reason::kLedgerRollback, "The server's ledger was put back: look at docs/operating/incidents.md."},
    {refusal_reason::kLedgerFork, "The server shows another ledger than before: look at docs/operating/incidents.md."},
    {refusal_reason::kLedgerUnproven, "The server could not prove its ledger: look at docs/operating/incidents.md."},
    {refusal_reason::kAnalytics, "The app accepts no analytics: accepts_analytics, or --accept-analytics."},
    {refusal_reason::kCpuBudget, "Wait for the next day of UTC, or raise the day's budget."},
    {refusal_reason::kUploadBudget, "Wait for the next day of UTC, or raise the day's budget."},
    {refusal_reason::kDownloadBudget, "Wait for the next day of UTC, or raise the day's budget."},
    {refusal_reason::kEnergyBudget, "Wait for the next day of UTC, or raise the day's budget."},
};

constexpr std::string_view kNothing = "Nothing: it asks again by itself.";
constexpr std::string_view kGoesOn = "Nothing: it goes on by itself.";

std::string_view advice_for(const MetGate& met) {
  const auto of_reason = std::ranges::find(kOfReasons, std::string_view(met.reason), &Advice::code);
  if (of_reason != std::end(kOfReasons)) return of_reason->says;
  if (met.gate == DeviceGate::plan_refused &&
      std::ranges::find(refusal_reason::kHolds, met.reason) != refusal_reason::kHolds.end())
    return "Nothing, if it is so seldom; else let the job ask less (device_requirements).";
  switch (met.gate) {
    case DeviceGate::not_enrolled: return "Give it an enrollment token (`coterie token create`).";
    case DeviceGate::held: return "Make the device what its app asks (--require), or ask less.";
    case DeviceGate::unsupported: return "Update the app: its SDK is older than the job.";
    case DeviceGate::resting: return "Nothing: it is asked again after rounds.separation_min rounds.";
    case DeviceGate::desk_full: return "Add servers, or raise selection.waiters_max of this one.";
    case DeviceGate::no_round: return "Nothing, if no job of its population runs now (`coterie job list`).";
    case DeviceGate::late: return "Nothing; if it is so each time, raise rounds.collecting_max_ms of the job.";
    case DeviceGate::plan_refused: return "Compare the plan with what the app asks (docs/SDK.md).";
    case DeviceGate::update_refused: return "Look into the server's log: its updates are not what the plan asks for.";
    case DeviceGate::failed: return "Look at what the sentence says; the step is tried again.";
    case DeviceGate::counted: return "Nothing: it is in its round, and asks for the next one.";
    default: return met.gate >= kFirstWithTicket ? kGoesOn : kNothing;
  }
}

// Its own words, in the singular.
std::string_view what_of(DeviceGate gate) {
  switch (gate) {
    case DeviceGate::not_enrolled: return "it has no identity at a server yet";
    case DeviceGate::held: return "what it is like, or its day's budget, holds it back";
    case DeviceGate::failed: return "a step could not be taken";
    case DeviceGate::waiting: return "it asks, and has no answer yet";
    case DeviceGate::not_drawn: return "it waited, and others were drawn";
    case DeviceGate::no_place: return "it came when there was no ticket left";
    case DeviceGate::resting: return "it was counted too short a time ago";
    case DeviceGate::unsupported: return "it does not know what the plan asks for";
    case DeviceGate::desk_full: return "it came when the server held as many as it can";
    case DeviceGate::stopping: return "it came as the server was about to stop";
    case DeviceGate::replaced: return "another check-in of it took this one's place";
    case DeviceGate::no_round: return "it came when no round collected";
    case DeviceGate::ticket: return "it has a ticket";
    case DeviceGate::joined: return "it has a ticket for an update of before";
    case DeviceGate::downloaded: return "it has its plan or model";
    case DeviceGate::plan_refused: return "it refused the plan";
    case DeviceGate::uploading: return "it has trained; its update is on its way";
    case DeviceGate::update_refused: return "its update was not taken";
    case DeviceGate::late: return "its update came when the round took no more";
    case DeviceGate::counted: return "it is counted";
    default: return meaning_of(gate);
  }
}

Result<MetGate> read_gate(const std::string& state_dir) {
  if (!os::exists(state_dir + "/identity.key")) {
    return Error(ErrorCode::not_found, state_dir + " is no device's: `coterie device run --state-dir` makes one");
  }
  const Result<Bytes> file = os::read_file(state_dir + "/gate", kGateBytesMax);
  if (!file && file.error().code() == ErrorCode::not_found) {
    return Error(ErrorCode::not_found, "the device of " + state_dir + " has not met a gate yet: it has not run");
  }
  if (!file) return file.error();
  const Result<MetGate> met = met_gate_from(as_text(*file));
  return met ? met : Result<MetGate>(met.error().with_context(state_dir + "/gate"));
}

}  // namespace

ExitCode tell_device_why(const std::string& state_dir, bool as_json) {
  const Result<MetGate> met = read_gate(state_dir);
  if (!met) return fail_on_input(kCommand, met.error());
  const std::string code(to_string(met->gate));
  if (as_json) {
    nlohmann::json json = {{"code", code}, {"since", rfc3339(met->since)}, {"advice", std::string(advice_for(*met))}};
    if (!met->reason.empty()) json["reason"] = met->reason;
    if (met->round != RoundKey{})
      json["round"] = {{"id", met->round.round.value()}, {"attempt", met->round.attempt.value()}};
    if (!met->detail.empty()) json["detail"] = met->detail;
    print_json(json);
    return ExitCode::ok;
  }
  const auto line = [](const char* title, const std::string& text) {
    const std::string whole = title + std::string(kIndent - std::string_view(title).size(), ' ') + printable(text);
    print_text(wrapped(whole, kColumns, kIndent) + "\n");
  };
  line("gate", code + (met->reason.empty() ? "" : "/" + met->reason) + ": " + std::string(what_of(met->gate)));
  if (met->round != RoundKey{}) {
    line("attempt", std::to_string(met->round.round.value()) + "." + std::to_string(met->round.attempt.value()));
  }
  line("since", short_time(rfc3339(met->since)));
  if (!met->detail.empty()) line("says", met->detail);
  line("do", std::string(advice_for(*met)));
  return ExitCode::ok;
}

void add_device_why(CLI::App& device, Invocation& invocation) {
  CLI::App* command = add_command(device, "why", "why a device on this machine takes no part: the last gate it met",
                                  "  coterie device why --state-dir ./device-1\n"
                                  "  coterie device why --state-dir ./device-1 -o json | jq -r .code\n\n"
                                  "The device may run meanwhile. No server is asked: what became of all devices\n"
                                  "of a round says `coterie job why`, in the same words.\n");
  const auto state_dir = std::make_shared<std::string>();
  command->add_option("--state-dir", *state_dir, "of the device")->required()->type_name("DIR");
  add_output_option(*command, invocation.admin);
  command->callback([&, state_dir] {
    invocation.run = [&invocation, state_dir] { return tell_device_why(*state_dir, invocation.admin.wants_json()); };
  });
}

}  // namespace coterie
