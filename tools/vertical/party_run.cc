#include "tools/vertical/party_run.h"

#include <algorithm>
#include <concepts>
#include <cstdio>
#include <functional>
#include <map>
#include <optional>
#include <ranges>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "secure/crypto/random.h"
#include "secure/crypto/sha256.h"
#include "secure/he/okamoto_uchiyama.h"
#include "secure/he/paillier.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/table.h"
#include "tools/vertical/exact_run.h"
#include "tools/vertical/journaled_stages.h"
#include "tools/vertical/meeting_links.h"
#include "tools/vertical/model_part.h"
#include "tools/vertical/progress_teller.h"
#include "tools/vertical/regression_run.h"
#include "tools/vertical/scores.h"
#include "tools/vertical/split_run.h"
#include "vertical/coordinator/coordinator_client.h"
#include "vertical/link/link_pulses.h"
#include "vertical/psi/matching.h"
#include "vertical/psi/ring_matching.h"
#include "vertical/regression/predict_regression.h"
#include "vertical/regression/ring_plan.h"
#include "vertical/split/batch_order.h"
#include "vertical/trees/predict_trees.h"
#include "vertical/trees/train_trees.h"

namespace coterie {
namespace {

using namespace vertical;

constexpr std::string_view kSampleSeed = "goss";

// A peer's patience is its own affair: as often as a patience of 20 seconds needs, unless this party's is shorter.
constexpr Millis kPulseMax{10'000};
constexpr int kPulsesOfPatience = 4;
// A matcher waits for the slowest party, and says nothing meanwhile.
constexpr Millis kMatcherPatience{600'000};

// Trees are the same whatever is drawn for them, and so are exact residuals. A seed of its own for each meeting: with
// other answers of the peer the gradients could be others, and must not be encrypted as the ones before were.
Secret<32> seed_of_meeting() {
  Secret<32> seed;
  fill_random(seed.mutable_bytes());
  return seed;
}

std::unique_ptr<AdditiveKey> key_of_meeting(VerticalCipher cipher) {
  const Secret<32> seed = seed_of_meeting();
  return cipher == VerticalCipher::paillier ? make_paillier_key(PaillierBits::k2048, seed)
                                            : make_okamoto_uchiyama_key(OkamotoUchiyamaBits::k2048, seed);
}

// What names several parties' journals together, in the parties' order.
Digest digest_of_journals(std::span<const RunPosition> positions) {
  Bytes journals;
  for (const RunPosition& position : positions) {
    journals.insert(journals.end(), position.journal.bytes.begin(), position.journal.bytes.end());
  }
  return sha256(journals);
}

class PartyRun {
 public:
  PartyRun(const PartyConfig& config, const VerticalManifest& manifest, const PartyInputs& inputs,
           PartyJournal& journal, PartyLinks links)
      : config_(config),
        manifest_(manifest),
        ids_(inputs.ids),
        table_(inputs.table),
        bottom_(inputs.bottom),
        journal_(journal),
        self_(links.self),
        links_(std::move(links.streams)),
        link_(links_.first()),
        teller_(config, manifest.job) {}

  Result<PartyReport> run() {
    for (auto& [peer, link] : links_.of_peers()) {
      COT_TRY(link.agree({.job = manifest_.job, .manifest = config_.approved, .party = self()}, peer));
    }
    std::vector<Link*> pulsing;
    for (auto& [peer, link] : links_.of_peers()) pulsing.push_back(&link);
    const LinkPulses pulses(std::move(pulsing), std::min(kPulseMax, config_.patience / kPulsesOfPatience));
    COT_TRY(meet());
    COT_TRY(match());
    if (!manifest_.is_prediction()) COT_TRY(train());
    COT_TRY(manifest_.is_split()        ? predict_split_network()
            : manifest_.is_regression() ? predict_regression()
                                        : predict_trees());
    COT_TRY(write_reports());
    COT_TRY(journal_.put_predicted());
    // Whoever goes before the others have all that they need would leave them alone for ever.
    for (auto& [peer, link] : links_.of_peers()) {
      Farewell farewell(peer);
      link.say_alive_no_more();
      COT_TRY(link.run(farewell, StageId::farewell, peer));
    }
    return report_;
  }

 private:
  PartyIndex self() const { return self_; }
  PartyIndex peer() const { return links_.first_peer(); }
  std::string out(const std::string& name) const { return config_.out + "/" + name; }
  uint32_t scored_rows() const { return static_cast<uint32_t>(scored_.size()); }

  Status write_reports() const {
    const std::string ledger = write_ledger(ledger_rows(report_, config_.is_label_party, manifest_));
    COT_TRY(os::write_file_atomically(out("ledger.json"), as_bytes(ledger)));
    return os::write_file_atomically(out("report.json"), as_bytes(write_report(report_)));
  }

  // Where all go on, and what the dealer knows them by.
  Status meet() {
    const RunPosition own = journal_.position();
    std::map<PartyIndex, RunPosition> all = {{self(), own}};
    std::vector<RunPosition> peers;
    for (auto& [peer, link] : links_.of_peers()) {
      PositionExchange exchange(own, peer);
      COT_TRY(link.run(exchange, StageId::hello, peer));
      all.emplace(peer, exchange.peers());
      peers.push_back(exchange.peers());
    }
    const Digest journal = peers.size() == 1 ? peers[0].journal : digest_of_journals(peers);
    COT_ASSIGN(const RunPosition theirs, common_position(peers, journal));
    COT_ASSIGN(start_, common_start(own, theirs, journal_.peer()));
    COT_TRY(journal_.put_meeting());
    if (!journal_.peer()) COT_TRY(journal_.put_peer(journal));
    const auto positions = std::views::values(all);
    session_ = digest_of_journals(std::vector<RunPosition>(positions.begin(), positions.end()));
    return {};
  }

  // `begin` makes the stage: that takes its time, too. Whoever called keeps what it returned.
  template <typename StageType>
  Result<std::unique_ptr<StageType>> run_stage(StageId id,
                                               const std::function<Result<std::unique_ptr<StageType>>()>& begin) {
    std::unique_ptr<StageType> stage;
    COT_TRY(report_stage(id, {}, [&]() -> Status {
      COT_ASSIGN(stage, begin());
      if constexpr (std::derived_from<StageType, OrderedStage>) return Link::run(*stage, id, links_.all());
      return link_.run(*stage, id, peer());
    }));
    return stage;
  }

  struct StageUnits {
    uint32_t done = 0, all = 0;  // before this meeting, and of the stage as far as it is known
  };
  Status report_stage(StageId id, StageUnits units, const std::function<Status()>& run) {
    const Instant started = os::monotonic_now();
    const LinkBytes before = links_.bytes();
    const JobStage stage = id == StageId::training   ? JobStage::training
                           : id == StageId::matching ? JobStage::matching
                                                     : JobStage::prediction;
    teller_.begin(stage, units.done, units.all);
    const auto sent = [&] { return links_.bytes().sent - before.sent; };
    journal_.watch_checkpoints([&](uint32_t unit, uint32_t units_all) {
      teller_.advance(unit, units_all > 0 ? units_all : units.all, sent());
    });
    const Status status = run();
    journal_.watch_checkpoints({});
    COT_TRY(status);
    teller_.end(sent());
    StageReport& report = report_.stages.emplace_back();
    report.name = stage_name(id);
    report.seconds = std::chrono::duration<double>(os::monotonic_now() - started).count();
    report.bytes = {.sent = sent(), .received = links_.bytes().received - before.received};
    std::printf("%s: %s, sent %s, received %s\n", report.name.c_str(), format_seconds(report.seconds).c_str(),
                format_bytes(report.bytes.sent).c_str(), format_bytes(report.bytes.received).c_str());
    std::fflush(stdout);
    return {};
  }

  // What checkpoints count: levels of trees, or steps. All are 0: it has none.
  StageUnits units_of_training() const { return {.done = start_.unit, .all = all_units_of_training()}; }
  uint32_t all_units_of_training() const {
    const auto rows = static_cast<uint32_t>(trained_.size());
    switch (manifest_.model) {
      case VerticalModel::trees: return manifest_.trees.trees() * manifest_.trees.depth;
      case VerticalModel::logistic:
        return RingPlan({.rows = rows,
                         .label_columns = 1,
                         .feature_columns = 1,
                         .batch = manifest_.logistic.batch,
                         .epochs = manifest_.logistic.epochs})
            .steps();
      case VerticalModel::linear: return 0;
      case VerticalModel::split: return BatchOrder(manifest_.split, rows, {}).steps();
    }
    return 0;
  }

  void report_skipped(StageId id) {
    report_.stages.emplace_back().name = stage_name(id);
    std::printf("%s: done before\n", std::string(stage_name(id)).c_str());
    std::fflush(stdout);
  }

  Status match() {
    report_.ids = ids_.items();
    if (start_.is_matched) {
      report_skipped(StageId::matching);
    } else if (manifest_.is_ring()) {
      COT_TRY(match_ring(ids_));
      links_.close_matcher();
    } else {
      COT_TRY(match_ids(ids_));
    }
    const JournalMatching& matching = *journal_.matching();
    report_.peer_ids = matching.peer_ids;
    report_.party_ids = matching.party_ids;
    report_.matched = matching.rows.size();
    for (const uint32_t row : matching.rows) {
      if (row >= table_.ids->size()) return Error(ErrorCode::data_loss, "the journal's matching is of another table");
      const bool is_scored = manifest_.is_prediction() || is_held_out((*table_.ids)[row]);
      (is_scored ? scored_ : trained_).push_back(row);
    }
    if (manifest_.is_prediction()) return check_scored();
    report_.trained = trained_.size();
    report_.held_out = scored_.size();
    if (trained_.empty() || scored_.empty()) {
      return Error(ErrorCode::refused, "the parties share " + counted(report_.matched, "id") +
                                           ", too few to train on some and to judge by others");
    }
    return {};
  }

  Status match_ids(IdSet ids) {
    COT_ASSIGN(KeptBuckets from, journal_.buckets_behind(start_.buckets));
    const StageUnits units{.done = start_.buckets, .all = from.matched.buckets_all};
    std::unique_ptr<Matching> matching;
    COT_TRY(report_stage(StageId::matching, units, [&]() -> Status {
      say_where(StageId::matching, start_.buckets, "bucket");
      const Secret<32> seed = journal_.seed("matching");
      const auto start = config_.is_label_party ? start_label_matching : start_feature_matching;
      COT_ASSIGN(matching, start(std::move(ids), manifest_.matching, peer(), seed, std::move(from.matched)));
      JournaledMatching journaled(*matching, from.heard, journal_);
      return link_.run(journaled, StageId::matching, peer());
    }));
    return journal_.put_matching({.peer_ids = matching->peer_items(),
                                  .party_ids = {},
                                  .root = matching->outcome().root,
                                  .rows = matching->matched_rows()});
  }

  // With the coordinator as the matcher, on a connection of its own.
  Status match_ring(IdSet ids) {
    return report_stage(StageId::matching, {}, [&]() -> Status {
      COT_ASSIGN(const std::unique_ptr<RingMatching> matching,
                 start_ring_matching(std::move(ids), manifest_.matching, self(),
                                     static_cast<uint32_t>(manifest_.parties.size()), journal_.seed("matching")));
      COT_ASSIGN(std::unique_ptr<ByteStream> stream,
                 ask_matcher(*config_.coordinator, manifest_.job, config_.approved,
                             {.time = std::max(config_.patience, kMatcherPatience), .cancel = Interrupt::flag()}));
      links_.open_matcher(std::move(stream));
      HeardOrderedStage heard(*matching, StageId::matching, std::nullopt, journal_);
      COT_TRY(Link::run(heard, StageId::matching, links_.all()));
      return journal_.put_matching({.peer_ids = 0,
                                    .party_ids = matching->items(),
                                    .root = matching->outcome().root,
                                    .rows = matching->matched_rows()});
    });
  }

  Status check_scored() const {
    if (!scored_.empty()) return {};
    return Error(ErrorCode::refused, "the parties share no id: there is nobody to score");
  }

  Status train() {
    COT_TRY(manifest_.is_split()        ? train_split_network()
            : manifest_.is_regression() ? train_regression()
                                        : train_trees());
    if (config_.is_label_party && is_sampled()) {
      COT_TRY(os::write_file_atomically(out(kSampleSeedFile), journal_.seed(kSampleSeed).reveal()));
      COT_TRY(os::write_file_atomically(out(kTrainedIdsFile), as_bytes(ids_csv(table_, trained_))));
    } else {
      // Those of a job before would be taken for this one's.
      for (const char* name : {kSampleSeedFile, kTrainedIdsFile}) COT_TRY(os::erase_file(out(name)));
    }
    const ModelPart part{.training = config_.approved,
                         .model = manifest_.model,
                         .is_label_party = config_.is_label_party,
                         .columns = table_.names,
                         .machine = *journal_.model()};
    return os::write_file_atomically(out(kModelPartFile), write_model_part(part));
  }

  bool is_sampled() const { return manifest_.model == VerticalModel::trees && manifest_.trees.goss.has_value(); }

  static void say_where(StageId stage, uint32_t unit, const char* name) {
    if (unit == 0) return;
    std::printf("%s: goes on behind %s %u\n", std::string(stage_name(stage)).c_str(), name, unit);
    std::fflush(stdout);
  }

  template <typename Training>
  Status run_trees(Result<std::unique_ptr<Training>> started) {
    COT_ASSIGN(const std::unique_ptr<Training> training, std::move(started));
    JournaledTrees<Training> journaled(*training, journal_);
    COT_TRY(Link::run(journaled, StageId::training, links_.all()));
    return journal_.put_model(write_tree_model(training->model()));
  }

  Status train_trees() {
    if (start_.is_trained) {
      report_skipped(StageId::training);
      return {};
    }
    return report_stage(StageId::training, units_of_training(), [&]() -> Status {
      COT_ASSIGN(BinnedColumns columns, bin_columns(rows_of(table_.columns, trained_), manifest_.bins));
      const JournalCheckpoint* const from = journal_.checkpoint(start_.unit);
      COT_ASSIGN(const std::vector<Bytes> grown, journal_.grown());
      say_where(StageId::training, start_.unit, "level");
      if (!config_.is_label_party) {
        FeatureTreeCheckpoint checkpoint;
        if (from != nullptr) {
          COT_ASSIGN(checkpoint, read_feature_tree_checkpoint(from->bytes, grown));
        }
        const CipherMaker cipher =
            manifest_.cipher == VerticalCipher::paillier ? paillier_cipher : okamoto_uchiyama_cipher;
        return run_trees(FeatureTraining::start(std::move(columns), manifest_.trees, seed_of_meeting(), cipher,
                                                std::move(checkpoint)));
      }
      LabelTreeCheckpoint checkpoint;
      if (from != nullptr) {
        COT_ASSIGN(checkpoint, read_label_tree_checkpoint(from->bytes, grown, trained_.size()));
      }
      return run_trees(LabelTraining::start(std::move(columns), rows_of({table_.labels}, trained_)[0], manifest_.trees,
                                            links_.peers(), key_of_meeting(manifest_.cipher), std::move(checkpoint),
                                            journal_.seed(kSampleSeed)));
    });
  }

  Status predict_trees() {
    if (start_.is_predicted) {
      report_skipped(StageId::prediction);
      return {};
    }
    if (!config_.is_label_party) {
      COT_ASSIGN(FeatureTreeModel model, read_feature_tree_model(*journal_.model()));
      COT_TRY(run_stage<FeaturePrediction>(StageId::prediction, [&] {
        return FeaturePrediction::start(rows_of(table_.columns, scored_), std::move(model), scored_rows());
      }));
      return {};
    }
    COT_ASSIGN(LabelTreeModel model, read_label_tree_model(*journal_.model()));
    COT_ASSIGN(const auto prediction, run_stage<LabelPrediction>(StageId::prediction, [&] {
                 return LabelPrediction::start(rows_of(table_.columns, scored_), std::move(model), scored_rows(),
                                               links_.peers());
               }));
    return write_scores(prediction->scores());
  }

  Status write_scores(const std::vector<float>& of_scored) const {
    return os::write_file_atomically(out("scores.csv"),
                                     as_bytes(scores_csv(table_, scored_, of_scored, !manifest_.is_prediction())));
  }

  Result<RegressionModel> regress_exactly() {
    say_where(StageId::training, start_.unit, "step");
    return train_exact({.is_label_party = config_.is_label_party,
                        .table = table_,
                        .rows = trained_,
                        .journal = journal_,
                        .link = link_},
                       manifest_.logistic, start_.unit, seed_of_meeting());
  }

  Result<RegressionModel> regress_with_dealer() {
    if (!manifest_.is_linear()) say_where(StageId::training, start_.unit, "step");
    COT_ASSIGN(DealtRegression dealt, train_with_dealer({.config = config_,
                                                         .manifest = manifest_,
                                                         .table = table_,
                                                         .rows = trained_,
                                                         .session = session_,
                                                         .self = self(),
                                                         .peer = peer(),
                                                         .journal = journal_,
                                                         .link = link_},
                                                        start_.unit));
    report_.dealt_bytes = dealt.dealt_bytes;
    return std::move(dealt.model);
  }

  Status train_regression() {
    if (start_.is_trained) {
      report_skipped(StageId::training);
      return {};
    }
    return report_stage(StageId::training, units_of_training(), [&]() -> Status {
      COT_ASSIGN(const RegressionModel model, manifest_.is_exact() ? regress_exactly() : regress_with_dealer());
      return journal_.put_model(write_regression_model(model));
    });
  }

  SplitSide split_side(const std::vector<uint32_t>& rows) {
    return {.is_label_party = config_.is_label_party,
            .session = session_,
            .table = table_,
            .rows = rows,
            .bottom = bottom_ ? &*bottom_ : nullptr,
            .journal = journal_,
            .link = link_};
  }

  Status train_split_network() {
    if (start_.is_trained) {
      report_skipped(StageId::training);
      return {};
    }
    return report_stage(StageId::training, units_of_training(), [&]() -> Status {
      say_where(StageId::training, start_.unit, "step");
      if (bottom_ && start_.unit == 0)
        std::printf("training: begins with the bottom of %s\n", config_.bottom->model.c_str());
      COT_ASSIGN(TrainedSplit trained, train_split(split_side(trained_), manifest_.split, start_.unit));
      report_.losses = std::move(trained.losses);
      return journal_.put_model(std::move(trained.model));
    });
  }

  Status predict_split_network() {
    if (start_.is_predicted) {
      report_skipped(StageId::prediction);
      return {};
    }
    return report_stage(StageId::prediction, {}, [&]() -> Status {
      COT_ASSIGN(const std::vector<float> scores, predict_split(split_side(scored_), *journal_.model()));
      return config_.is_label_party ? write_scores(scores) : Status();
    });
  }

  Status predict_regression() {
    if (start_.is_predicted) {
      report_skipped(StageId::prediction);
      return {};
    }
    COT_ASSIGN(const RegressionModel model, read_regression_model(*journal_.model()));
    const RegressionColumns columns = rows_of(table_.columns, scored_);
    if (!config_.is_label_party) {
      COT_TRY(
          run_stage<Stage>(StageId::prediction, [&] { return start_feature_scoring(columns, model, scored_rows()); }));
      return {};
    }
    COT_ASSIGN(const auto scoring, run_stage<LabelScoring>(StageId::prediction, [&] {
                 return LabelScoring::start(columns, model, scored_rows(),
                                            manifest_.is_linear() ? ScoreKind::value : ScoreKind::probability);
               }));
    return write_scores(scoring->scores());
  }

  const PartyConfig& config_;
  const VerticalManifest& manifest_;
  const IdSet& ids_;
  const PartyTable& table_;
  const std::optional<TrainedBottom>& bottom_;
  PartyJournal& journal_;
  PartyIndex self_;
  MeetingLinks links_;
  Link& link_;  // to peer()
  ProgressTeller teller_;
  RunStart start_;
  Digest session_;
  PartyReport report_;
  std::vector<uint32_t> trained_, scored_;  // rows of the table, in the matched order
};

}  // namespace

Result<PartyReport> run_stages(const PartyConfig& config, const VerticalManifest& manifest, const PartyInputs& inputs,
                               PartyJournal& journal, PartyLinks links) {
  return PartyRun(config, manifest, inputs, journal, std::move(links)).run();
}

}  // namespace coterie
