#include "tools/vertical/demo_report.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/cli/table.h"
#include "tools/cli/wrap.h"
#include "vertical/split/cut_tensor.h"

namespace coterie {
namespace {

constexpr int kColumns = 80;

// What all feature parties sent in a stage.
uint64_t feature_bytes_sent(const VerticalDemoResult& result, size_t stage) {
  uint64_t sent = 0;
  for (const PartyReport& feature : result.features) sent += feature.stages[stage].bytes.sent;
  return sent;
}

// What the coordinator carried from them.
uint64_t feature_bytes_relayed(const VerticalDemoResult& result) {
  uint64_t relayed = 0;
  for (size_t i = 1; i < result.job.parties.size(); ++i) relayed += result.job.parties[i].relayed_bytes;
  return relayed;
}

std::string people_text(const VerticalDemoResult& result) {
  std::string features;
  for (const PartyReport& feature : result.features) {
    features += (features.empty() ? "" : " and ") + format_count(feature.ids);
  }
  const bool is_ring = result.terms.is_ring();
  const std::string text = "people: the label party has " + format_count(result.label.ids) + ", the feature " +
                           (is_ring ? "parties " : "party ") + features + ", " + (is_ring ? "all " : "both ") +
                           format_count(result.label.matched);
  return wrapped(text, kColumns, 8) + "\n        trained on " + format_count(result.label.trained) + ", held out " +
         format_count(result.label.held_out) + "\n\n";
}

std::string stages_table(const VerticalDemoResult& result) {
  Table table({{"stage"},
               {"time", Table::Align::right},
               {"label party sent", Table::Align::right},
               {result.terms.is_ring() ? "feature parties sent" : "feature party sent", Table::Align::right}});
  for (size_t i = 0; i < result.label.stages.size(); ++i) {
    const StageReport& stage = result.label.stages[i];
    table.add({stage.name, format_seconds(stage.seconds), format_bytes(stage.bytes.sent),
               format_bytes(feature_bytes_sent(result, i))});
  }
  return table.text();
}

std::string quality_table(const VerticalDemoResult& result) {
  const bool is_linear = result.terms.is_linear();
  std::vector<Table::Column> columns = {{"held-out people"}};
  for (const char* name : {"AUC", "log loss", "RMSE"}) {
    if ((std::string_view(name) == "RMSE") == is_linear) columns.push_back({name, Table::Align::right});
  }
  Table table(std::move(columns));
  const auto add = [&](const char* name, const ScoreQuality& quality) {
    if (is_linear) return table.add({name, format_fixed(quality.rmse, 6)});
    table.add({name, format_fixed(quality.auc, 4), format_fixed(quality.log_loss, 4)});
  };
  add(result.terms.is_split()     ? "both parties, split"
      : result.terms.has_dealer() ? "both parties, on shares"
      : result.terms.is_ring()    ? "all parties, encrypted"
                                  : "both parties, encrypted",
      result.together);
  add("one table of all columns", result.pooled);
  add("label party alone", result.alone);
  return table.text();
}

nlohmann::ordered_json quality_json(const VerticalDemoResult& result, const ScoreQuality& quality) {
  if (result.terms.is_linear()) return {{"rmse", quality.rmse}};
  return {{"auc", quality.auc}, {"log_loss", quality.log_loss}};
}

// How much worse than one table's; below 0 where it is better.
double log_loss_excess(const VerticalDemoResult& result) { return result.together.log_loss - result.pooled.log_loss; }

double auc_loss(const VerticalDemoResult& result) { return result.pooled.auc - result.together.auc; }

// Bytes of a step of a whole batch, each way, by the formula.
std::string split_bytes_text(const VerticalDemoResult& result) {
  const vertical::SplitSettings& split = result.terms.split;
  const size_t width = cut_width(split), rows = std::min<uint64_t>(split.batch, result.label.trained);
  return "A step of " + format_count(rows) + " people with " + counted(width, "number") +
         " at the cut: " + format_bytes(cut_message_bytes(rows, width, split.activations)) + " forward, " +
         format_bytes(cut_message_bytes(rows, width, split.gradients)) + " back.\n";
}

std::string comparison_text(const VerticalDemoResult& result) {
  const uint64_t held_out = result.label.held_out;
  if (result.terms.is_linear()) {
    return std::string(result.is_pooled() ? "The scores are the one table's, but for rounding"
                                          : "The scores are not the one table's") +
           ": the largest difference\nis " + format_fixed(result.score_gap * 1e6, 3) +
           " millionths of the labels' deviation, at most one is good.\n";
  }
  if (result.terms.is_split()) {
    if (!result.is_compared()) return "Noise or turned labels keep it from being as good as one table.\n";
    const std::string gap = format_fixed(std::abs(auc_loss(result)), 4);
    return "The AUC is " + gap + (auc_loss(result) > 0 ? " below" : " above") + " the one table's, at most " +
           format_fixed(kSplitAucLossMax, 2) + " below it is good:\neach network began at weights of its own.\n";
  }
  if (result.terms.is_exact()) {
    return "The largest difference of a score is " + format_fixed(result.score_gap, 6) +
           " of the labels' deviation, at most\n" + format_fixed(kExactScoreGapMax, 3) +
           " is good: columns of the feature party are rounded.\n";
  }
  if (result.terms.is_regression()) {
    const double excess = log_loss_excess(result);
    return "The log loss is " + format_fixed(std::abs(excess), 4) + (excess > 0 ? " above" : " below") +
           " the one table's, at most " + format_fixed(kRegressionLogLossExcessMax, 3) +
           " above it is good:\nthe sigmoid on shares is a sum of 12 sines.\n";
  }
  if (result.is_pooled()) {
    return "Each of the " + counted(held_out, "encrypted score") + " equals the one table's, bit for bit.\n";
  }
  return format_count(held_out - result.equal_scores) + " of " + counted(held_out, "encrypted score") +
         " differ from the one table's.\n";
}

}  // namespace

bool VerticalDemoResult::is_pooled() const {
  if (terms.is_split()) return !is_compared() || auc_loss(*this) <= kSplitAucLossMax;
  if (terms.is_linear()) return score_gap <= kLinearScoreGapMax;
  if (terms.is_exact()) return score_gap <= kExactScoreGapMax;
  return terms.is_regression() ? log_loss_excess(*this) <= kRegressionLogLossExcessMax : equal_scores == label.held_out;
}

std::string demo_text(const VerticalDemoResult& result, const std::string& folder) {
  std::string text = people_text(result);
  text += stages_table(result) + "\n" + quality_table(result) + comparison_text(result);
  if (result.terms.is_split()) text += split_bytes_text(result);
  text += "\nWhat each party learned of the other, by row of the ledger\n";
  for (const LedgerRow& row : ledger_rows(result.label, true, result.terms)) {
    text += row.id + " " + row.stage + "\n";
    text += "   " + wrapped("label party: " + row.label_party, kColumns - 3, 5) + "\n";
    text += "   " +
            wrapped((result.terms.is_ring() ? "each feature party: " : "feature party: ") + row.feature_party,
                    kColumns - 3, 5) +
            "\n";
    if (!row.coordinator.empty()) text += "   " + wrapped("coordinator: " + row.coordinator, kColumns - 3, 5) + "\n";
  }
  text += "\nThe coordinator carried " + format_bytes(result.job.parties[0].relayed_bytes) +
          " from the label party and " + format_bytes(feature_bytes_relayed(result)) + "\nfrom the feature " +
          (result.terms.is_ring() ? "parties" : "party") + ", sealed; the job is " +
          std::string(job_state_name(result.job.state)) + ".\n";
  if (result.terms.has_dealer()) {
    text += "It dealt " + format_bytes(result.label.dealt_bytes) + " to the label party and " +
            format_bytes(result.features[0].dealt_bytes) + " to the feature party.\n";
  }
  return text + "\nmanifest.json, ledger.json, metrics.json and each party's part of the model\nare in " + folder +
         " (" + format_seconds(result.seconds) + ")\n";
}

std::string demo_metrics(const VerticalDemoResult& result) {
  nlohmann::ordered_json stages = nlohmann::ordered_json::array();
  for (size_t i = 0; i < result.label.stages.size(); ++i) {
    const StageReport& stage = result.label.stages[i];
    stages.push_back({{"name", stage.name},
                      {"seconds", stage.seconds},
                      {"label_party_bytes_sent", stage.bytes.sent},
                      {"feature_party_bytes_sent", feature_bytes_sent(result, i)}});
  }
  nlohmann::ordered_json json = {{"manifest_sha256", result.manifest.hex()},
                                 {"label_party_ids", result.label.ids},
                                 {"feature_party_ids", result.features[0].ids},
                                 {"matched", result.label.matched},
                                 {"trained", result.label.trained},
                                 {"held_out", result.label.held_out},
                                 {"model", vertical_model_name(result.terms.model)},
                                 {"stages", stages},
                                 {"job_state", job_state_name(result.job.state)},
                                 {"label_party_bytes_relayed", result.job.parties[0].relayed_bytes},
                                 {"feature_party_bytes_relayed", feature_bytes_relayed(result)},
                                 {"together", quality_json(result, result.together)},
                                 {"pooled", quality_json(result, result.pooled)},
                                 {"label_party_alone", quality_json(result, result.alone)},
                                 {"seconds", result.seconds}};
  if (result.terms.is_ring()) json["party_ids"] = result.label.party_ids;
  if (result.terms.is_split()) {
    json["network"] = split_network_name(result.terms.split.network);
    json["epochs"] = result.terms.split.epochs;
    json["losses"] = result.label.losses;
  } else if (result.terms.is_regression()) {
    if (result.terms.is_linear() || result.terms.is_exact()) json["score_gap"] = result.score_gap;
    if (!result.terms.is_linear()) json["epochs"] = result.terms.logistic.epochs;
    if (result.terms.has_dealer()) {
      json["label_party_bytes_dealt"] = result.label.dealt_bytes;
      json["feature_party_bytes_dealt"] = result.features[0].dealt_bytes;
    }
  } else {
    json["trees"] = result.terms.trees.trees();
    json["cipher"] = vertical_cipher_name(result.terms.cipher);
    if (const auto& goss = result.terms.trees.goss) {
      json["goss"] = {{"top_rate", goss->top_rate}, {"other_rate", goss->other_rate}};
    }
    json["scores_equal_to_pooled"] = result.equal_scores;
  }
  return json.dump(2) + "\n";
}

}  // namespace coterie
