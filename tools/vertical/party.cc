#include "tools/vertical/party.h"

#include <charconv>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "secure/crypto/random.h"
#include "secure/he/paillier.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/table.h"
#include "tools/vertical/party_table.h"
#include "vertical/coordinator/coordinator_client.h"
#include "vertical/psi/matching.h"
#include "vertical/regression/predict_regression.h"
#include "vertical/regression/train_regression.h"
#include "vertical/trees/predict_trees.h"
#include "vertical/trees/train_trees.h"

namespace coterie {
namespace {

using namespace vertical;

constexpr Millis kReportPatience{10'000};
constexpr PartyIndex kLabelParty = 0, kFeatureParty = 1;

Secret<32> new_seed() {
  Secret<32> seed;
  fill_random(seed.mutable_bytes());
  return seed;
}

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

Result<std::unique_ptr<ByteStream>> connect(const PartyConfig& config, const VerticalJobId& job) {
  const LinkPatience patience{.time = config.patience, .cancel = Interrupt::flag()};
  if (config.coordinator) {
    return meet_at_coordinator(*config.coordinator, job, config.approved, config.tls, config.is_label_party, patience);
  }
  if (!config.is_label_party) return dial_party(config.host, config.port, config.tls, patience);
  COT_ASSIGN(const PartyListener listener, PartyListener::open(config.host, config.port));
  const std::string port = std::to_string(listener.port());
  if (!config.port_file.empty()) {
    COT_TRY(os::write_file_atomically(config.port_file, as_bytes(port + "\n"), os::Durability::process));
  }
  std::printf("listening on %s:%s\n", config.host.c_str(), port.c_str());
  std::fflush(stdout);
  return listener.accept(config.tls, patience);
}

std::string shortest(float value) {
  char text[40];
  return std::string(text, std::to_chars(text, text + sizeof text, value).ptr);
}

// One run of a party, stage after stage.
class Party {
 public:
  Party(const PartyConfig& config, const VerticalManifest& manifest, PartyTable table,
        std::unique_ptr<ByteStream> stream)
      : config_(config), manifest_(manifest), table_(std::move(table)), link_(std::move(stream)) {}

  Result<PartyReport> run() {
    COT_TRY(link_.agree({.job = manifest_.job, .manifest = config_.approved, .party = self()}, peer()));
    COT_TRY(match());
    if (manifest_.model == VerticalModel::logistic) {
      COT_TRY(regress());
    } else {
      COT_TRY(config_.is_label_party ? train_and_score() : train_and_answer());
    }
    return report_;
  }

 private:
  PartyIndex self() const { return config_.is_label_party ? kLabelParty : kFeatureParty; }
  PartyIndex peer() const { return config_.is_label_party ? kFeatureParty : kLabelParty; }
  std::string out(const std::string& name) const { return config_.out + "/" + name; }

  // `begin` makes the stage: that takes its time, too. Whoever called keeps what it returned.
  template <typename StageType>
  Result<std::unique_ptr<StageType>> run_stage(StageId id,
                                               const std::function<Result<std::unique_ptr<StageType>>()>& begin) {
    std::unique_ptr<StageType> stage;
    COT_TRY(report_stage(id, [&]() -> Status {
      COT_ASSIGN(stage, begin());
      return link_.run(*stage, id, peer());
    }));
    return stage;
  }

  Status report_stage(StageId id, const std::function<Status()>& run) {
    const Instant started = os::monotonic_now();
    const LinkBytes before = link_.bytes();
    COT_TRY(run());
    StageReport& report = report_.stages.emplace_back();
    report.name = stage_name(id);
    report.seconds = std::chrono::duration<double>(os::monotonic_now() - started).count();
    report.bytes = {.sent = link_.bytes().sent - before.sent, .received = link_.bytes().received - before.received};
    std::printf("%s: %s, sent %s, received %s\n", report.name.c_str(), format_seconds(report.seconds).c_str(),
                format_bytes(report.bytes.sent).c_str(), format_bytes(report.bytes.received).c_str());
    std::fflush(stdout);
    return {};
  }

  Status match() {
    COT_ASSIGN(IdSet ids, IdSet::make(table_.ids, Duplicates::refuse));
    report_.ids = ids.items();
    COT_ASSIGN(const auto matching, run_stage<Matching>(StageId::matching, [&] {
                 return config_.is_label_party
                            ? start_label_matching(std::move(ids), manifest_.matching, peer(), new_seed())
                            : start_feature_matching(std::move(ids), manifest_.matching, peer(), new_seed());
               }));
    report_.peer_ids = matching->peer_items();
    report_.matched = matching->matched_rows().size();
    for (const uint32_t row : matching->matched_rows()) {
      (is_held_out(table_.ids[row]) ? held_out_ : trained_).push_back(row);
    }
    report_.trained = trained_.size();
    report_.held_out = held_out_.size();
    if (trained_.empty() || held_out_.empty()) {
      return Error(ErrorCode::refused, "the parties share " + counted(report_.matched, "id") +
                                           ", too few to train on some and to judge by others");
    }
    return {};
  }

  uint32_t held_out_rows() const { return static_cast<uint32_t>(held_out_.size()); }

  Status train_and_score() {
    COT_ASSIGN(BinnedColumns columns, bin_columns(rows_of(table_.columns, trained_), manifest_.bins));
    const std::vector<float> labels = rows_of({table_.labels}, trained_)[0];
    COT_ASSIGN(const auto training, run_stage<LabelTraining>(StageId::training, [&] {
                 return LabelTraining::start(std::move(columns), labels, manifest_.trees, {kFeatureParty},
                                             make_paillier_key(PaillierBits::k2048, new_seed()));
               }));
    COT_TRY(os::write_file_atomically(out("model.part"), write_tree_model(training->model())));
    COT_ASSIGN(const auto prediction, run_stage<LabelPrediction>(StageId::prediction, [&] {
                 return LabelPrediction::start(rows_of(table_.columns, held_out_), training->model(), held_out_rows(),
                                               {kFeatureParty});
               }));
    return write_scores(prediction->scores());
  }

  Status write_scores(const std::vector<float>& of_held_out) const {
    std::string scores = "id,label,score\n";
    for (size_t i = 0; i < held_out_.size(); ++i) {
      // Quoted, as an id may have commas.
      std::string id;
      for (const char c : table_.ids[held_out_[i]]) id += c == '"' ? std::string("\"\"") : std::string(1, c);
      scores += "\"" + id + "\"," + shortest(table_.labels[held_out_[i]]) + "," + shortest(of_held_out[i]) + "\n";
    }
    return os::write_file_atomically(out("scores.csv"), as_bytes(scores));
  }

  Status train_and_answer() {
    COT_ASSIGN(BinnedColumns columns, bin_columns(rows_of(table_.columns, trained_), manifest_.bins));
    COT_ASSIGN(const auto training, run_stage<FeatureTraining>(StageId::training, [&] {
                 return FeatureTraining::start(std::move(columns), manifest_.trees, new_seed(), paillier_cipher);
               }));
    COT_TRY(os::write_file_atomically(out("model.part"), write_tree_model(training->model())));
    COT_ASSIGN(const auto prediction, run_stage<Stage>(StageId::prediction, [&]() -> Result<std::unique_ptr<Stage>> {
                 COT_ASSIGN(
                     std::unique_ptr<FeaturePrediction> stage,
                     FeaturePrediction::start(rows_of(table_.columns, held_out_), training->model(), held_out_rows()));
                 return std::unique_ptr<Stage>(std::move(stage));
               }));
    return {};
  }

  // The coordinator deals, on a connection of its own for each party.
  Result<std::unique_ptr<RegressionTraining>> train_regression(const RegressionColumns& columns) {
    const auto rows = static_cast<uint32_t>(trained_.size());
    COT_ASSIGN(const auto agreement, start_shape(rows, columns, self(), manifest_.logistic));
    COT_TRY(link_.run(*agreement, StageId::training, peer()));
    const RegressionShape& shape = agreement->shape();
    const LinkPatience patience{.time = config_.patience, .cancel = Interrupt::flag()};
    COT_ASSIGN(std::unique_ptr<ByteStream> stream,
               ask_dealer(*config_.coordinator, manifest_.job, config_.approved, shape, patience));
    Link dealer(std::move(stream));
    COT_ASSIGN(std::unique_ptr<RegressionTraining> training,
               config_.is_label_party
                   ? start_label_regression(shape, manifest_.logistic, columns, rows_of({table_.labels}, trained_)[0])
                   : start_feature_regression(shape, manifest_.logistic, columns));
    COT_TRY(link_.run(*training, StageId::training, peer(), dealer));
    report_.dealt_bytes = dealer.bytes().received;
    return training;
  }

  Status regress() {
    std::unique_ptr<RegressionTraining> training;
    COT_TRY(report_stage(StageId::training, [&]() -> Status {
      COT_ASSIGN(training, train_regression(rows_of(table_.columns, trained_)));
      return {};
    }));
    COT_ASSIGN(const RegressionModel model, training->model());
    COT_TRY(os::write_file_atomically(out("model.part"), write_regression_model(model)));
    const RegressionColumns columns = rows_of(table_.columns, held_out_);
    if (!config_.is_label_party) {
      return report_stage(StageId::prediction, [&]() -> Status {
        COT_ASSIGN(const auto scoring, start_feature_scoring(columns, model, held_out_rows()));
        return link_.run(*scoring, StageId::prediction, peer());
      });
    }
    COT_ASSIGN(const auto scoring, run_stage<LabelScoring>(StageId::prediction, [&] {
                 return LabelScoring::start(columns, model, held_out_rows());
               }));
    return write_scores(scoring->scores());
  }

  const PartyConfig& config_;
  const VerticalManifest& manifest_;
  PartyTable table_;
  Link link_;
  PartyReport report_;
  std::vector<uint32_t> trained_, held_out_;  // rows of the table, in the matched order
};

}  // namespace

namespace {

Result<PartyReport> run_stages(const PartyConfig& config, const VerticalManifest& manifest, PartyTable table,
                               std::unique_ptr<ByteStream> stream) {
  COT_ASSIGN(const PartyReport report, Party(config, manifest, std::move(table), std::move(stream)).run());
  const std::string ledger = write_ledger(ledger_rows(report, config.is_label_party, manifest));
  COT_TRY(os::write_file_atomically(config.out + "/ledger.json", as_bytes(ledger)));
  COT_TRY(os::write_file_atomically(config.out + "/report.json", as_bytes(write_report(report))));
  return report;
}

// How it ended, for the job's record. The coordinator learns an error's kind, never its sentence.
void tell_coordinator(const PartyConfig& config, const VerticalJobId& job, const Result<PartyReport>& report) {
  Request request{.kind = RequestKind::report, .job = job, .is_done = report.has_value()};
  if (!report) {
    request.reason = is_job_reason(report.error().reason()) ? report.error().reason() : report.error().name();
  }
  const Result<JobView> view = ask_coordinator(*config.coordinator, request, {.time = kReportPatience});
  if (view) return;
  std::fprintf(stderr, "coterie vertical party: the coordinator did not hear how the run ended: %s\n",
               printable(view.error().message()).c_str());
}

}  // namespace

Result<PartyReport> run_party(const PartyConfig& config) {
  COT_ASSIGN(const ApprovedManifest approved, read_approved_manifest(config));
  const VerticalManifest& manifest = approved.manifest;
  if (manifest.model == VerticalModel::logistic && !config.coordinator) {
    return Error(ErrorCode::invalid_argument,
                 "a regression needs a coordinator as its dealer, and this configuration has none", "dealer_missing");
  }
  COT_ASSIGN(PartyTable table, read_party_table(config.table_file, config.id_column, config.label_column));
  COT_TRY(os::make_directories(config.out));
  COT_ASSIGN(std::unique_ptr<ByteStream> stream, connect(config, manifest.job));
  Result<PartyReport> report = run_stages(config, manifest, std::move(table), std::move(stream));
  if (config.coordinator) tell_coordinator(config, manifest.job, report);
  return report;
}

ExitCode run_party_command(const std::string& config_file) {
  const Result<PartyConfig> config = read_party_config(config_file);
  const Result<PartyReport> report = config ? run_party(*config) : Result<PartyReport>(config.error());
  if (report) return ExitCode::ok;
  const Error& error = report.error();
  const std::string reason = error.reason().empty() ? "" : " (" + std::string(error.reason()) + ")";
  std::fprintf(stderr, "coterie vertical party: %s%s\n", printable(error.message()).c_str(), reason.c_str());
  return config ? exit_code_of(error.code()) : ExitCode::usage;
}

}  // namespace coterie
