#include "tools/vertical/party.h"

#include <cstdio>
#include <memory>
#include <optional>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/table.h"
#include "tools/vertical/model_part.h"
#include "tools/vertical/party_inputs.h"
#include "tools/vertical/party_journal.h"
#include "tools/vertical/party_links.h"
#include "tools/vertical/party_run.h"
#include "vertical/coordinator/coordinator_client.h"
#include "vertical/exact/exact_settings.h"

namespace coterie {
namespace {

using namespace vertical;

constexpr Millis kReportPatience{10'000};
constexpr Millis kRedialEvery{500};
constexpr uint64_t kReportBytesMax = 1 << 20;

}  // namespace

Result<ApprovedManifest> read_approved_manifest(const PartyConfig& config) {
  COT_ASSIGN(const Bytes bytes, os::read_file(config.manifest_file, kManifestBytesMax));
  if (const Digest digest = manifest_digest(as_text(bytes)); digest != config.approved) {
    return Error(ErrorCode::refused,
                 config.manifest_file + " has the SHA-256 " + digest.hex() + ", this party approved " +
                     config.approved.hex() + "; read it, and approve it if you agree",
                 "manifest_not_approved");
  }
  Result<VerticalManifest> manifest = parse_manifest(as_text(bytes));
  if (!manifest) return manifest.error().with_context(config.manifest_file);
  return ApprovedManifest{.text = std::string(as_text(bytes)), .manifest = *manifest};
}

namespace {

// A lost connection, or what a coordinator says while it has not seen that one is lost. A party that was in a run waits
// for the next one.
bool may_come_back(const Error& error) {
  const ErrorCode code = error.code();
  return code == ErrorCode::unavailable || code == ErrorCode::timed_out || code == ErrorCode::overloaded ||
         error.reason() == refusal_name(vertical::Refusal::already_joined) ||
         error.reason() == refusal_name(vertical::Refusal::not_running);
}

}  // namespace

bool is_to_go_on(const Error& error, bool has_met) {
  if (error.code() == ErrorCode::cancelled || error.code() == ErrorCode::storage_full) return true;
  return has_met && may_come_back(error);
}

namespace {

// One party's job, from the first meeting to the last.
class PartyJob {
 public:
  PartyJob(const PartyConfig& config, const VerticalManifest& manifest, PartyIndex self, const PartyInputs& inputs,
           PartyJournal journal)
      : config_(config), manifest_(manifest), self_(self), inputs_(inputs), journal_(std::move(journal)) {}

  Result<PartyReport> run() {
    Result<PartyReport> report = run_until_it_ends();
    if (!config_.coordinator || (!report && is_to_go_on(report.error(), has_met_))) return report;
    // Who never met its peer has no run to tell of, and nothing to go on with.
    if (!has_met_ || tell_coordinator(report)) {
      if (Status erased = journal_.erase(); !erased) return erased.error();
    }
    return report;
  }

 private:
  Result<PartyReport> run_until_it_ends() {
    has_met_ = journal_.peer().has_value();
    Instant until = os::monotonic_now() + config_.resume;
    for (;;) {
      if (is_done_at_both()) return report_of_before();
      bool is_met = false;
      Result<PartyReport> report = meet(is_met);
      if (report) return report;
      const Error& error = report.error();
      if (error.reason() == refusal_name(vertical::Refusal::job_over)) return ended_elsewhere(error);
      if (!config_.coordinator || !has_met_ || !may_come_back(error)) return report;
      if (is_met) until = os::monotonic_now() + config_.resume;
      if (os::monotonic_now() >= until) return report;
      if (is_met) {
        std::fprintf(stderr, "coterie vertical party: %s; waiting to go on\n", printable(error.message()).c_str());
      }
      COT_TRY(Interrupt::wait(kRedialEvery));
    }
  }

  // `is_met`: a peer was there.
  Result<PartyReport> meet(bool& is_met) {
    COT_ASSIGN(PartyLinks links, open_links(config_, manifest_, self_, [&] { is_met = has_met_ = true; }));
    return run_stages(config_, manifest_, inputs_, journal_, std::move(links));
  }

  // All is done here. Whether the other party is, too, which then has gone.
  bool is_done_at_both() const {
    if (!config_.coordinator || !journal_.position().is_predicted) return false;
    const Result<JobView> view =
        ask_coordinator(*config_.coordinator, {.kind = RequestKind::report, .job = manifest_.job, .is_done = true},
                        {.time = kReportPatience, .cancel = Interrupt::flag()});
    return view && view->state == JobState::done;
  }

  Result<PartyReport> report_of_before() const {
    COT_ASSIGN(const Bytes bytes, os::read_file(config_.out + "/report.json", kReportBytesMax));
    return parse_report(as_text(bytes));
  }

  // The job was over before: done by this party, too, or ended by the other one or somebody else.
  Result<PartyReport> ended_elsewhere(const Error& refused) {
    const Result<JobView> view = ask_coordinator(
        *config_.coordinator, {.kind = RequestKind::status, .job = manifest_.job}, {.time = kReportPatience});
    if (!view) return refused;
    if (Status erased = journal_.erase(); !erased) return erased.error();
    if (view->state == JobState::done) {
      std::printf("the job is done: all parties had said so before\n");
      return report_of_before();
    }
    return Error(refused.code(),
                 "the job is over: " + std::string(job_state_name(view->state)) +
                     (view->reason.empty() ? "" : " (" + view->reason + ")"),
                 refused.reason());
  }

  // How it ended, for the job's record; whether the coordinator has heard it. It learns an error's kind, never its
  // sentence.
  bool tell_coordinator(const Result<PartyReport>& report) const {
    Request request{.kind = RequestKind::report, .job = manifest_.job, .is_done = report.has_value()};
    if (!report) {
      request.reason = is_job_reason(report.error().reason()) ? report.error().reason() : report.error().name();
    }
    const Instant until = os::monotonic_now() + config_.resume;
    for (;;) {
      const Result<JobView> view = ask_coordinator(*config_.coordinator, request, {.time = kReportPatience});
      if (view) return true;
      // A coordinator that is started again wants to know.
      if (report && may_come_back(view.error()) && os::monotonic_now() < until && Interrupt::wait(kRedialEvery)) {
        continue;
      }
      std::fprintf(stderr, "coterie vertical party: the coordinator did not hear how the run ended: %s\n",
                   printable(view.error().message()).c_str());
      return false;
    }
  }

  const PartyConfig& config_;
  const VerticalManifest& manifest_;
  PartyIndex self_;
  const PartyInputs& inputs_;
  PartyJournal journal_;
  bool has_met_ = false;
};

}  // namespace

Result<PartyReport> run_party(const PartyConfig& config, PartyTask task) {
  COT_ASSIGN(const ApprovedManifest approved, read_approved_manifest(config));
  const VerticalManifest& manifest = approved.manifest;
  if (manifest.is_prediction() != (task == PartyTask::prediction)) {
    return Error(ErrorCode::invalid_argument,
                 manifest.is_prediction() ? "the manifest is of a prediction: run it by `coterie vertical predict`"
                                          : "the manifest is of a training: run it by `coterie vertical party`",
                 "kind_differs");
  }
  if (manifest.has_dealer() && !config.coordinator) {
    return Error(ErrorCode::invalid_argument,
                 "such a regression needs a coordinator as its dealer, and this configuration has none",
                 "dealer_missing");
  }
  COT_ASSIGN(const PartyIndex self, place_of(config, manifest));
  COT_ASSIGN(PartyInputs inputs, read_party_inputs(config, manifest));
  if (manifest.is_prediction() && os::exists(config.out + "/" + kModelPartFile)) {
    return Error(ErrorCode::refused,
                 config.out + " has the results of a training, " + kModelPartFile +
                     " among them; give the prediction another `out`",
                 "out_in_use");
  }
  if (manifest.is_exact() && !config.is_label_party) {
    const PartyTable& table = inputs.table;
    COT_TRY(check_exact_table(static_cast<uint32_t>(table.ids->size()), static_cast<uint32_t>(table.columns.size()),
                              manifest.logistic));
  }
  COT_TRY(os::make_directories(config.out));
  COT_ASSIGN(PartyJournal journal,
             PartyJournal::open(config.coordinator ? config.out + "/journal" : "",
                                {.job = manifest.job, .manifest = config.approved, .inputs = inputs.digest}));
  if (manifest.is_prediction()) COT_TRY(journal.put_model(std::move(inputs.model)));
  return PartyJob(config, manifest, self, inputs, std::move(journal)).run();
}

ExitCode run_party_command(const std::string& config_file, PartyTask task) {
  const Result<PartyConfig> config = read_party_config(config_file);
  const Result<PartyReport> report = config ? run_party(*config, task) : Result<PartyReport>(config.error());
  if (report) return ExitCode::ok;
  const Error& error = report.error();
  const std::string reason = error.reason().empty() ? "" : " (" + std::string(error.reason()) + ")";
  std::fprintf(stderr, "coterie vertical %s: %s%s\n", task == PartyTask::prediction ? "predict" : "party",
               printable(error.message()).c_str(), reason.c_str());
  return config ? exit_code_of(error.code()) : ExitCode::usage;
}

}  // namespace coterie
