#include "tools/vertical/party_report.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "fl_server/json/json_reader.h"
#include "tools/cli/table.h"
#include "vertical/coordinator/leakage_row.h"
#include "vertical/split/activation_noise.h"

namespace coterie {

namespace {

// An epsilon of activations that are released so often, or that there is none.
std::string epsilon_of_activations(const vertical::SplitSettings& split, uint64_t releases) {
  const Result<double> epsilon = vertical::activation_epsilon(split, releases);
  return epsilon ? " with noise (epsilon " + format_fixed(*epsilon, 2) + " at delta 1e-6 for a person's vector)"
                 : " with noise (no epsilon: " + std::string(epsilon.error().message()) + ")";
}

// What is true of every job with this row, with the job's numbers before it; `feature_party` in place of the row's own.
LedgerRow counted_row(std::string_view id, const std::string& on, const std::string& feature_party = {}) {
  const vertical::LeakageRow& row = *vertical::leakage_row(id);
  return {std::string(row.id), std::string(row.stage), on + std::string(row.label_party),
          feature_party.empty() ? on + std::string(row.feature_party) : feature_party, std::string(row.coordinator)};
}

LedgerRow split_training_row(const PartyReport& report, const vertical::SplitSettings& split) {
  const std::string on = "on " + format_count(report.trained) + " people and " + counted(split.epochs, "epoch") + ": ";
  std::string of_labels = "the slope of the loss at the cut for each person, which says its label";
  if (split.label_epsilon > 0) {
    of_labels = "the slope of the loss at the cut for each person, of labels turned at random (epsilon " +
                format_fixed(split.label_epsilon, 2) + " for a label)";
  } else if (split.protection != vertical::GradientProtection::none) {
    of_labels = "the slope of the loss at the cut for each person, with noise (" +
                std::string(gradient_protection_name(split.protection)) + ", no epsilon)";
  }
  const std::string numbers = std::to_string(cut_width(split)) + " numbers of each person";
  const std::string of_features = split.hides_features()
                                      ? numbers + epsilon_of_activations(split, split.epochs)
                                      : numbers + " and epoch, from which its columns may be guessed";
  const bool is_protected = split.hides_labels() || split.hides_features();
  return {is_protected ? "L9" : "L8", "training", on + of_features, on + of_labels};
}

LedgerRow sampling_row(const PartyReport& report, const vertical::Goss& goss) {
  const vertical::SampleSize size = vertical::sample_size(goss, static_cast<uint32_t>(report.trained));
  return counted_row("L13", "",
                     "which " + format_count(size.rows()) + " of " + format_count(report.trained) +
                         " people each round looks at: the " + format_count(size.top) +
                         " with the largest gradients are among them, and so mostly those who have a rare label");
}

LedgerRow split_prediction_row(const VerticalManifest& manifest, const std::string& of, const std::string& who) {
  if (manifest.is_prediction()) {
    return {"L12", "prediction", of + "the numbers at the cut, with noise if the model was trained so", who};
  }
  return {"L12", "prediction",
          of + std::to_string(cut_width(manifest.split)) + " numbers at the cut" +
              (manifest.split.hides_features() ? epsilon_of_activations(manifest.split, 1) : ""),
          who};
}

LedgerRow ring_matching_row(const PartyReport& report) {
  std::string ids;
  for (const uint64_t one : report.party_ids) ids += (ids.empty() ? "" : ", ") + format_count(one);
  const std::string learns = "which " + format_count(report.matched) +
                             " of its ids all others have; that the parties have " + ids + ", by bucket";
  return {"L2", "matching", learns, learns, std::string(vertical::leakage_row("L2")->coordinator)};
}

}  // namespace

std::vector<LedgerRow> ledger_rows(const PartyReport& report, bool label_party, const VerticalManifest& manifest) {
  const uint64_t label_ids = label_party ? report.ids : report.peer_ids;
  const uint64_t feature_ids = label_party ? report.peer_ids : report.ids;
  const std::string matched = format_count(report.matched);
  const LedgerRow matching = manifest.is_ring()
                                 ? ring_matching_row(report)
                                 : LedgerRow{"L1", "matching",
                                             "which " + matched + " of its ids the other has; that the other has " +
                                                 format_count(feature_ids) + ", by bucket",
                                             "which " + matched + " of its ids the other has; that the other has " +
                                                 format_count(label_ids) + ", by bucket"};
  const uint64_t scored = manifest.is_prediction() ? report.matched : report.held_out;
  const std::string of = "of " + format_count(scored) + " people: ";
  const std::string who = "which " + format_count(scored) + " people are scored";
  const LedgerRow prediction = manifest.is_split()        ? split_prediction_row(manifest, of, who)
                               : manifest.is_regression() ? counted_row("L10", of, who)
                                                          : counted_row("L4", of, who);
  if (manifest.is_prediction()) return {matching, prediction};
  if (manifest.is_split()) return {matching, split_training_row(report, manifest.split), prediction};
  if (manifest.is_linear()) {
    const std::string on = "on " + format_count(report.trained) + " people: ";
    return {matching, counted_row("L11", on), prediction};
  }
  if (manifest.is_regression()) {
    const std::string on = "on " + format_count(report.trained) + " people: ";
    return {matching, counted_row(manifest.is_exact() ? "L7" : "L6", on), prediction};
  }
  const std::string on =
      "on " + format_count(report.trained) + " people and " + counted(manifest.trees.trees(), "tree") + ": ";
  if (!manifest.trees.goss) return {matching, counted_row("L3", on), prediction};
  return {matching, counted_row("L3", on), sampling_row(report, *manifest.trees.goss), prediction};
}

std::string write_report(const PartyReport& report) {
  nlohmann::ordered_json stages = nlohmann::ordered_json::array();
  for (const StageReport& stage : report.stages) {
    stages.push_back({{"name", stage.name},
                      {"seconds", stage.seconds},
                      {"bytes_sent", stage.bytes.sent},
                      {"bytes_received", stage.bytes.received}});
  }
  nlohmann::ordered_json json = {{"ids", report.ids},           {"peer_ids", report.peer_ids},
                                 {"matched", report.matched},   {"trained", report.trained},
                                 {"held_out", report.held_out}, {"dealt_bytes", report.dealt_bytes},
                                 {"losses", report.losses},     {"stages", stages}};
  if (!report.party_ids.empty()) json["party_ids"] = report.party_ids;
  return json.dump(2) + "\n";
}

Result<PartyReport> parse_report(std::string_view text) {
  Problems problems;
  const std::optional<nlohmann::json> json = parse_json(text, problems);
  if (!json || !json->is_object()) return Error(ErrorCode::malformed, "a party's report is no JSON object");
  PartyReport report;
  JsonReader reader(*json, "", problems);
  reader.read("ids", report.ids);
  reader.read("peer_ids", report.peer_ids);
  reader.read("matched", report.matched);
  reader.read("trained", report.trained);
  reader.read("held_out", report.held_out);
  reader.read("dealt_bytes", report.dealt_bytes);
  if (const auto ids = json->find("party_ids"); ids != json->end() && ids->is_array()) {
    for (const nlohmann::json& one : *ids) {
      if (one.is_number_unsigned()) report.party_ids.push_back(one.get<uint64_t>());
    }
  }
  if (const auto losses = json->find("losses"); losses != json->end() && losses->is_array()) {
    for (const nlohmann::json& loss : *losses) {
      if (loss.is_number()) report.losses.push_back(loss.get<double>());
    }
  }
  if (const auto stages = json->find("stages"); stages != json->end() && stages->is_array()) {
    for (const nlohmann::json& entry : *stages) {
      JsonReader stage(entry, "/stages", problems);
      StageReport& to = report.stages.emplace_back();
      stage.read("name", to.name);
      stage.read("seconds", to.seconds);
      stage.read("bytes_sent", to.bytes.sent);
      stage.read("bytes_received", to.bytes.received);
    }
  }
  if (!problems.empty()) return Error(ErrorCode::malformed, problems[0].pointer + ": " + problems[0].detail);
  return report;
}

std::string write_ledger(const std::vector<LedgerRow>& rows) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const LedgerRow& row : rows) {
    json.push_back({{"id", row.id},
                    {"stage", row.stage},
                    {"label_party_learns", row.label_party},
                    {"feature_party_learns", row.feature_party}});
    if (!row.coordinator.empty()) json.back()["coordinator"] = row.coordinator;
  }
  return json.dump(2) + "\n";
}

}  // namespace coterie
