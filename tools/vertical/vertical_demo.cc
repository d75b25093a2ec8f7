#include "tools/vertical/vertical_demo.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "secure/crypto/dev_ca.h"
#include "secure/crypto/random.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/table.h"
#include "tools/data/csv_rows.h"
#include "tools/data/packed_file.h"
#include "tools/demo/child_process.h"
#include "tools/demo/run_folder.h"
#include "tools/vertical/baselines.h"
#include "tools/vertical/cut_table.h"
#include "tools/vertical/demo_report.h"
#include "tools/vertical/example_tables.h"
#include "tools/vertical/job_commands.h"
#include "tools/vertical/job_folder.h"
#include "tools/vertical/loss_chart.h"
#include "tools/vertical/manifest.h"
#include "tools/vertical/party_config.h"
#include "tools/vertical/party_run.h"
#include "tools/vertical/party_table.h"
#include "tools/vertical/split_baseline.h"

namespace coterie {
namespace {

constexpr Millis kLook{20};     // how often what the parties do is looked at
constexpr Millis kGrace{2000};  // for parties that are asked to end
constexpr uint64_t kResultBytesMax = 64 << 20;
constexpr int kCertificateDays = 2;
constexpr uint64_t kIntersectionMin = 10;  // small tables of one's own are tried out, too

void remove_tree(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

// The keys of the demo's parties, which nobody needs afterwards.
class Certificates {
 public:
  explicit Certificates(std::string folder) : folder_(std::move(folder)) {}
  Certificates(const Certificates&) = delete;
  Certificates& operator=(const Certificates&) = delete;
  ~Certificates() { remove_tree(folder_); }

  // A certificate for each name, with a file `<name>.pem` and a key.
  Status make(const std::vector<std::string>& names) const {
    COT_TRY(os::make_directories(folder_));
    const WallTime now = os::wall_now();
    COT_ASSIGN(const PemPair ca, make_dev_ca(now, kCertificateDays));
    COT_TRY(os::write_file_atomically(folder_ + "/ca.pem", as_bytes(ca.certificate)));
    for (const std::string& name : names) {
      COT_ASSIGN(const PemPair pair, make_peer_certificate(ca, {name}, now, kCertificateDays));
      COT_TRY(os::write_file_atomically(folder_ + "/" + name + ".pem", as_bytes(pair.certificate)));
      COT_TRY(os::write_file_atomically(folder_ + "/" + name + ".key", as_bytes(pair.private_key)));
    }
    return {};
  }

 private:
  std::string folder_;
};

// A party's table, as its file has it and as this process reads it for the comparison.
struct DemoTable {
  std::string text;
  PartyTable table;
};

struct Tables {
  DemoTable label;
  std::vector<DemoTable> features;  // by party, from the first feature party on
};

Result<std::string> text_of(const std::string& file, ByteView built_in) {
  if (file.empty()) return std::string(as_text(built_in));
  COT_ASSIGN(const Bytes bytes, read_unpacked(file, kPartyTableBytesMax));
  return std::string(as_text(bytes));
}

Result<Tables> read_tables(const VerticalDemoOptions& options) {
  const LabelValues values = options.model == VerticalModel::linear ? LabelValues::numbers : LabelValues::binary;
  const auto name = [](const std::string& file, const char* built_in) { return file.empty() ? built_in : file; };
  Tables tables;
  COT_ASSIGN(tables.label.text, text_of(options.label_table, kLabelPartyBytes));
  COT_ASSIGN(tables.label.table,
             parse_party_table(tables.label.text, name(options.label_table, "label_party.csv"), "id", "label", values));
  COT_ASSIGN(const std::string feature, text_of(options.feature_table, kFeaturePartyBytes));
  std::vector<std::string> cut{feature};
  if (options.parties > 2) {
    COT_ASSIGN(cut, cut_table(feature, options.parties - 1));
  }
  for (std::string& text : cut) {
    COT_ASSIGN(PartyTable table, parse_party_table(text, name(options.feature_table, "feature_party.csv"), "id", ""));
    tables.features.push_back({.text = std::move(text), .table = std::move(table)});
  }
  return tables;
}

// A party's folder, its name in its certificate, and what it is called.
std::string folder_of(vertical::PartyIndex party) { return job_party_key(party); }

std::string name_of(vertical::PartyIndex party) {
  std::string name = job_party_key(party);
  std::ranges::replace(name, '_', '-');
  return name;
}

std::string called(vertical::PartyIndex party) {
  std::string name = job_party_key(party);
  std::ranges::replace(name, '_', ' ');
  return "the " + name;
}

class Demo {
 public:
  Demo(const VerticalDemoOptions& options, const Tables& tables, const RunFolder& folder)
      : options_(options), tables_(tables), folder_(folder), certificates_(folder.path("certificates")) {}

  Result<VerticalDemoResult> run() {
    const Instant started = os::monotonic_now();
    COT_TRY(prepare());
    COT_TRY(run_job());
    COT_TRY(read_reports());
    COT_TRY(compare());
    result_.seconds = std::chrono::duration<double>(os::monotonic_now() - started).count();
    COT_TRY(folder_.write("metrics.json", as_bytes(demo_metrics(result_))));
    const std::vector<LedgerRow> rows = ledger_rows(result_.label, true, manifest_);
    COT_TRY(folder_.write("ledger.json", as_bytes(write_ledger(rows))));
    if (!result_.label.losses.empty()) {
      COT_TRY(folder_.write("chart.svg", as_bytes(draw_losses(result_.label.losses))));
    }
    return result_;
  }

 private:
  Status prepare() {
    for (vertical::PartyIndex party = 0; party < options_.parties; ++party) manifest_.parties.push_back(name_of(party));
    std::vector<std::string> names = manifest_.parties;
    names.push_back("coordinator");
    COT_TRY(certificates_.make(names));
    fill_random(manifest_.job);
    fill_random(manifest_.matching.salt);
    manifest_.matching.id_type = "id";
    manifest_.matching.intersection_min = kIntersectionMin;
    manifest_.model = options_.model;
    manifest_.logistic = options_.logistic;
    manifest_.mode = options_.mode;
    manifest_.split = options_.split;
    manifest_.linear.lambda = options_.logistic.lambda;
    manifest_.trees.rounds = options_.trees;
    manifest_.trees.depth = options_.depth;
    manifest_.trees.goss = options_.goss;
    manifest_.cipher = options_.cipher;
    manifest_.bins = options_.bins;
    const std::string text = write_manifest(manifest_);
    result_.manifest = manifest_digest(text);
    result_.terms = manifest_;
    result_.label_columns = static_cast<uint32_t>(tables_.label.table.columns.size());
    for (const DemoTable& feature : tables_.features) {
      result_.feature_columns += static_cast<uint32_t>(feature.table.columns.size());
    }
    COT_TRY(folder_.write("manifest.json", as_bytes(text)));
    COT_TRY(os::make_directories(folder_.path("coordinator")));
    for (vertical::PartyIndex party = 0; party < options_.parties; ++party) {
      COT_TRY(os::make_directories(folder_.path(folder_of(party))));
      COT_TRY(folder_.write("devices/" + folder_of(party) + ".csv", as_bytes(table_of(party).text)));
    }
    return {};
  }

  const DemoTable& table_of(vertical::PartyIndex party) const {
    return party == 0 ? tables_.label : tables_.features[party - 1];
  }

  Status write_party_config(vertical::PartyIndex party, const std::string& port) const {
    const std::string self = folder_of(party), certificate = "../certificates/" + name_of(party);
    nlohmann::ordered_json json = {
        {"role", party == 0 ? "label" : "feature"},
        {"manifest", "../manifest.json"},
        {"approved", result_.manifest.hex()},
        {"table", "../devices/" + self + ".csv"},
        {"coordinator", {{"address", "127.0.0.1:" + port}, {"name", "coordinator"}}},
        {"tls",
         {{"ca", "../certificates/ca.pem"}, {"certificate", certificate + ".pem"}, {"key", certificate + ".key"}}},
        {"out", "."}};
    if (manifest_.is_ring()) {
      json["name"] = name_of(party);
    } else {
      json["tls"]["peer_name"] = name_of(1 - party);
    }
    return folder_.write(self + "/config.json", as_bytes(json.dump(2) + "\n"));
  }

  Status write_coordinator_config() const {
    const nlohmann::ordered_json json = {{"listen", "127.0.0.1:0"},
                                         {"port_file", "port"},
                                         {"jobs", "jobs"},
                                         {"tls",
                                          {{"ca", "../certificates/ca.pem"},
                                           {"certificate", "../certificates/coordinator.pem"},
                                           {"key", "../certificates/coordinator.key"}}}};
    return folder_.write("coordinator/config.json", as_bytes(json.dump(2) + "\n"));
  }

  Result<Child> start(const std::string& name, const std::string& command, const std::string& folder) const {
    std::error_code error;
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
    if (error) return Error(ErrorCode::unavailable, "cannot find out where this program lies: " + error.message());
    return Child::start(
        {.name = name,
         .command = {program.string(), "vertical", command, "--config", folder_.path(folder + "/config.json")},
         .environment = {},
         .log_file = folder_.log_file(folder)});
  }

  // What the operator of each party would do by hand.
  Status submit_and_approve() const {
    COT_TRY(ask(folder_of(0), JobCommand::submit));
    for (vertical::PartyIndex party = 0; party < options_.parties; ++party) {
      COT_TRY(ask(folder_of(party), JobCommand::approve));
    }
    return {};
  }

  Result<vertical::JobView> ask(const std::string& party, JobCommand command) const {
    COT_ASSIGN(const PartyConfig config, read_party_config(folder_.path(party + "/config.json")));
    return run_job_command(command, config);
  }

  Status run_job() {
    COT_TRY(write_coordinator_config());
    COT_ASSIGN(Child coordinator, start("the coordinator", "coordinator", "coordinator"));
    const std::string port_file = folder_.path("coordinator/port");
    while (!os::exists(port_file)) {
      COT_TRY(Interrupt::wait(kLook));
      if (coordinator.has_ended()) {
        return Error(ErrorCode::unavailable, coordinator.name() + " " + coordinator.obituary());
      }
    }
    COT_ASSIGN(const Bytes bytes, os::read_file(port_file, 16));
    const std::string port(as_text(bytes).substr(0, as_text(bytes).find('\n')));
    for (vertical::PartyIndex party = 0; party < options_.parties; ++party) COT_TRY(write_party_config(party, port));
    COT_TRY(submit_and_approve());
    COT_TRY(run_parties());
    COT_ASSIGN(result_.job, ask(folder_of(0), JobCommand::status));
    stop_children({&coordinator}, kGrace);
    return {};
  }

  // All to their end. A party that fails takes the others with it: each sees the connection end.
  Status run_parties() const {
    std::vector<Child> parties;
    for (vertical::PartyIndex party = 0; party < options_.parties; ++party) {
      COT_ASSIGN(Child child, start(called(party), "party", folder_of(party)));
      parties.push_back(std::move(child));
    }
    std::vector<Child*> all;
    for (Child& child : parties) all.push_back(&child);
    for (;;) {
      size_t ended = 0;
      bool has_failed = false;
      for (Child* child : all) {
        if (!child->has_ended()) continue;
        ++ended;
        has_failed = has_failed || !child->succeeded();
      }
      if (ended == all.size()) break;
      if (has_failed) {
        stop_children(all, kGrace);
        break;
      }
      if (Status status = Interrupt::wait(kLook); !status) {
        stop_children(all, kGrace);
        return status;
      }
    }
    std::string failed;
    for (Child* child : all) {
      if (!child->has_ended() || child->succeeded()) continue;
      failed += (failed.empty() ? "" : "; ") + child->name() + " " + child->obituary();
    }
    if (!failed.empty()) return Error(ErrorCode::unavailable, failed);
    return {};
  }

  Status read_reports() {
    result_.features.clear();
    for (vertical::PartyIndex party = 0; party < options_.parties; ++party) {
      COT_ASSIGN(const Bytes bytes, os::read_file(folder_.path(folder_of(party) + "/report.json"), kResultBytesMax));
      COT_ASSIGN(PartyReport report, parse_report(as_text(bytes)));
      if (party == 0) {
        result_.label = std::move(report);
      } else {
        result_.features.push_back(std::move(report));
      }
    }
    return {};
  }

  // Who was held out is in the label party's scores; everybody else whom all have was trained on.
  Status compare() {
    COT_ASSIGN(const Bytes bytes, os::read_file(folder_.path("label_party/scores.csv"), kResultBytesMax));
    COT_ASSIGN(const CsvRows scored, CsvRows::parse(as_text(bytes)));
    std::unordered_map<std::string, size_t> place;
    std::vector<float> scores;
    for (size_t i = 0; i < scored.size(); ++i) {
      place.emplace(scored.field(i, 0), i);
      scores.push_back(static_cast<float>(number_in(scored.field(i, 2)).value_or(0)));
    }
    std::vector<std::unordered_map<std::string, uint32_t>> feature_row(tables_.features.size());
    for (size_t i = 0; i < feature_row.size(); ++i) {
      const vertical::IdList& ids = *tables_.features[i].table.ids;
      for (uint32_t row = 0; row < ids.size(); ++row) feature_row[i].emplace(ids[row], row);
    }
    const PartyTable& own = tables_.label.table;
    std::vector<uint32_t> label_train, label_held(scores.size());
    std::vector<std::string> train_ids, held_ids(scores.size());
    for (uint32_t row = 0; row < own.ids->size(); ++row) {
      const std::string id((*own.ids)[row]);
      if (std::ranges::any_of(feature_row, [&](const auto& rows) { return !rows.contains(id); })) continue;
      if (const auto held = place.find(id); held != place.end()) {
        label_held[held->second] = row;
        held_ids[held->second] = id;
      } else {
        label_train.push_back(row);
        train_ids.push_back(id);
      }
    }
    if (manifest_.trees.goss) COT_TRY(put_in_matched_order(label_train, train_ids));
    PlainData alone{.train = rows_of(own.columns, label_train),
                    .held_out = rows_of(own.columns, label_held),
                    .labels = rows_of({own.labels}, label_train)[0]};
    const std::vector<float> labels = rows_of({own.labels}, label_held)[0];
    COT_ASSIGN(const std::vector<float> alone_scores, one_table_scores(alone, 1));
    PlainData pooled = std::move(alone);
    for (size_t i = 0; i < feature_row.size(); ++i) {
      const auto columns_of = [&](const std::vector<std::string>& ids) {
        std::vector<uint32_t> rows;
        for (const std::string& id : ids) rows.push_back(feature_row[i].at(id));
        return rows_of(tables_.features[i].table.columns, rows);
      };
      for (auto& column : columns_of(train_ids)) pooled.train.push_back(std::move(column));
      for (auto& column : columns_of(held_ids)) pooled.held_out.push_back(std::move(column));
    }
    COT_ASSIGN(const std::vector<float> pooled_scores, one_table_scores(pooled, 2));
    for (size_t i = 0; i < scores.size(); ++i) result_.equal_scores += scores[i] == pooled_scores[i] ? 1 : 0;
    result_.score_gap = score_gap(scores, pooled_scores, labels);
    result_.together = judge_scores(scores, labels);
    result_.pooled = judge_scores(pooled_scores, labels);
    result_.alone = judge_scores(alone_scores, labels);
    return {};
  }

  // What is sampled depends on the order of rows, which nothing else does. `rows` of the label table have these ids.
  Status put_in_matched_order(std::vector<uint32_t>& rows, std::vector<std::string>& ids) const {
    COT_ASSIGN(const Bytes bytes, os::read_file(folder_.path(folder_of(0) + "/" + kTrainedIdsFile), kResultBytesMax));
    COT_ASSIGN(const CsvRows trained, CsvRows::parse(as_text(bytes)));
    std::unordered_map<std::string, uint32_t> row_of;
    for (size_t i = 0; i < rows.size(); ++i) row_of.emplace(ids[i], rows[i]);
    if (trained.size() != rows.size()) {
      return Error(ErrorCode::data_loss, "the label party trained on " + std::to_string(trained.size()) +
                                             " people, expected " + std::to_string(rows.size()));
    }
    for (size_t i = 0; i < rows.size(); ++i) {
      ids[i] = trained.field(i, 0);
      const auto found = row_of.find(ids[i]);
      if (found == row_of.end()) return Error(ErrorCode::data_loss, "trained.csv of the label party has a stranger");
      rows[i] = found->second;
    }
    return {};
  }

  Result<std::vector<float>> one_table_scores(const PlainData& data, uint32_t parties) const {
    if (manifest_.is_split()) return plain_split_scores(data, manifest_.split, parties);
    if (manifest_.is_linear()) return plain_linear_scores(data, manifest_.linear);
    if (manifest_.model == VerticalModel::logistic) return plain_regression_scores(data, manifest_.logistic);
    COT_ASSIGN(Secret<32> seed, sample_seed());
    return plain_scores(data, manifest_.trees, manifest_.bins, std::move(seed));
  }

  // One table is sampled as both parties' were: their scores then are the same bits.
  Result<Secret<32>> sample_seed() const {
    Secret<32> seed;
    if (!manifest_.trees.goss) return seed;
    COT_ASSIGN(Bytes bytes,
               os::read_file(folder_.path(std::string("label_party/") + kSampleSeedFile), Secret<32>::kSize));
    if (bytes.size() != Secret<32>::kSize) return Error(ErrorCode::data_loss, "the label party's sample.seed is cut");
    std::ranges::copy(bytes, seed.mutable_bytes().begin());
    wipe(bytes);
    return seed;
  }

  const VerticalDemoOptions& options_;
  const Tables& tables_;
  const RunFolder& folder_;
  Certificates certificates_;
  VerticalManifest manifest_;
  VerticalDemoResult result_;
};

const char* what_passes(const VerticalDemoOptions& options) {
  switch (options.model) {
    case VerticalModel::trees:
      return options.cipher == VerticalCipher::paillier ? "Gradients under Paillier-2048"
                                                        : "Gradients under Okamoto-Uchiyama-2048";
    case VerticalModel::logistic:
      return options.mode == RegressionMode::exact ? "Residuals under Paillier-2048"
                                                   : "Weights and margins in shares, the coordinator deals";
    case VerticalModel::linear: return "Products of columns in shares, the coordinator deals";
    case VerticalModel::split: return "A network cut in two, numbers at the cut pass between them";
  }
  return "";
}

ExitCode fail(const Error& error, ExitCode code) {
  std::fprintf(stderr, "coterie vertical demo: %s\n", printable(error.message()).c_str());
  return code;
}

}  // namespace

ExitCode run_vertical_demo(const VerticalDemoOptions& options) {
  const Result<Tables> tables = read_tables(options);
  if (!tables) return fail(tables.error(), ExitCode::usage);
  Result<RunFolder> folder =
      options.out.empty() ? RunFolder::create_default(false) : RunFolder::create(options.out, false);
  if (!folder) return fail(folder.error(), ExitCode::usage);
  size_t feature_columns = 0;
  for (const DemoTable& feature : tables->features) feature_columns += feature.table.columns.size();
  std::fprintf(stderr,
               "%u parties meet at a coordinator: %u processes, mutual TLS 1.3 from party to\n"
               "party. Label party: %zu columns and the label; feature %s: %zu columns.\n"
               "%s ...\n\n",
               options.parties, options.parties + 1, tables->label.table.columns.size(),
               options.parties > 2 ? "parties" : "party", feature_columns, what_passes(options));
  const Result<VerticalDemoResult> result = Demo(options, *tables, *folder).run();
  if (result) {
    folder->finished();
    std::fputs(demo_text(*result, folder->path()).c_str(), stdout);
    return result->is_pooled() ? ExitCode::ok : ExitCode::failure;
  }
  if (result.error().code() == ErrorCode::cancelled) {
    for (const char* name : {"coordinator", "manifest.json"}) remove_tree(folder->path(name));
    for (vertical::PartyIndex party = 0; party < options.parties; ++party) {
      remove_tree(folder->path(folder_of(party)));
    }
    folder->interrupted();
    return fail(result.error(), ExitCode::interrupted);
  }
  folder->failed();
  return fail(result.error(), ExitCode::failure);
}

}  // namespace coterie
