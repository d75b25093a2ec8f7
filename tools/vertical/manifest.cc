#include "tools/vertical/manifest.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "fl_server/json/json_reader.h"
#include "secure/crypto/sha256.h"
#include "tools/vertical/split_json.h"
#include "vertical/coordinator/job_record.h"

namespace coterie {
namespace {

constexpr uint32_t kOneIn = 5;  // people are held out

template <size_t kBytes>
void read_hex(JsonReader& reader, const char* key, std::array<uint8_t, kBytes>& value) {
  std::string text;
  reader.require(key);
  reader.read(key, text);
  const Result<Bytes> bytes = from_hex(text);
  if (!bytes || bytes->size() != kBytes) {
    reader.problem(key, "must be " + std::to_string(2 * kBytes) + " hexadecimal digits");
    return;
  }
  std::ranges::copy(*bytes, value.begin());
}

constexpr std::array<std::string_view, 2> kModeNames = {"shares", "exact"};
constexpr std::array<std::string_view, kVerticalModels> kModelNames = {"trees", "logistic", "linear", "split"};
constexpr std::string_view kCipherNames[] = {"paillier", "okamoto_uchiyama"};
// A kind's number: the model, and kVerticalModels more for a prediction.
constexpr std::array<std::string_view, 2 * kVerticalModels> kKinds = {"vertical_trees",
                                                                      "vertical_logistic",
                                                                      "vertical_linear",
                                                                      "vertical_split",
                                                                      "vertical_trees_prediction",
                                                                      "vertical_logistic_prediction",
                                                                      "vertical_linear_prediction",
                                                                      "vertical_split_prediction"};

std::string listed_rows(std::span<const std::string_view> rows) {
  std::string text;
  for (const std::string_view row : rows) text += (text.empty() ? "\"" : ", \"") + std::string(row) + "\"";
  return "[" + text + "]";
}

void read_logistic(JsonReader& reader, VerticalManifest& manifest) {
  vertical::RegressionSettings& logistic = manifest.logistic;
  JsonReader from = reader.object("logistic");
  auto mode = static_cast<size_t>(manifest.mode);
  from.read_choice("mode", kModeNames, mode);
  manifest.mode = static_cast<RegressionMode>(mode);
  from.read("epochs", logistic.epochs);
  from.read("batch", logistic.batch);
  from.read("rate", logistic.rate);
  from.read("lambda", logistic.lambda);
  from.finish();
}

void read_linear(JsonReader& reader, vertical::RidgeSettings& linear) {
  JsonReader from = reader.object("linear");
  from.read("lambda", linear.lambda);
  from.finish();
}

void read_trees(JsonReader& reader, VerticalManifest& manifest) {
  JsonReader trees = reader.object("trees");
  trees.read("rounds", manifest.trees.rounds);
  trees.read("depth", manifest.trees.depth);
  trees.read("eta", manifest.trees.eta);
  trees.read("lambda", manifest.trees.lambda);
  trees.read("min_child_weight", manifest.trees.min_child_weight);
  trees.read("label_party_first", manifest.trees.label_party_first);
  if (trees.has("goss")) {
    JsonReader goss = trees.object("goss");
    vertical::Goss& rates = manifest.trees.goss.emplace();
    goss.read("top_rate", rates.top_rate);
    goss.read("other_rate", rates.other_rate);
    goss.finish();
  }
  trees.read("bins", manifest.bins);
  auto cipher = static_cast<size_t>(manifest.cipher);
  trees.read_choice("cipher", kCipherNames, cipher);
  manifest.cipher = static_cast<VerticalCipher>(cipher);
  if (manifest.bins < 2 || manifest.bins > kVerticalBinsMax) {
    trees.problem("bins", "must be from 2 to " + std::to_string(kVerticalBinsMax));
  }
  trees.finish();
}

// "feature" is one party's name, "features" are several parties'.
void read_parties(JsonReader& reader, VerticalManifest& manifest) {
  JsonReader from = reader.object("parties");
  std::string label, feature;
  std::vector<std::string> features;
  from.require("label");
  from.read("label", label);
  if (from.has("features")) {
    from.read("features", features);
    if (features.size() < 2) from.problem("features", "must be two names or more; one alone is `feature`");
    if (manifest.model != VerticalModel::trees) {
      from.problem("features", std::string(vertical_model_name(manifest.model)) +
                                   " trains with one feature party alone, as its shares and its cut are of two "
                                   "parties; trees train with more");
    }
  } else {
    from.require("feature");
    from.read("feature", feature);
    features = {feature};
  }
  manifest.parties = {label};
  manifest.parties.insert(manifest.parties.end(), features.begin(), features.end());
  if (Status status = vertical::check_terms({.job = {}, .manifest = {}, .parties = manifest.parties}); !status) {
    reader.problem("parties", status.error().message());
  }
  from.finish();
}

}  // namespace

std::string_view vertical_model_name(VerticalModel model) { return kModelNames[static_cast<size_t>(model)]; }

std::string_view vertical_cipher_name(VerticalCipher cipher) { return kCipherNames[static_cast<size_t>(cipher)]; }

std::string_view manifest_kind(const VerticalManifest& manifest) {
  return kKinds[static_cast<size_t>(manifest.model) + (manifest.is_prediction() ? kVerticalModels : 0)];
}

std::span<const std::string_view> leakage_of(const VerticalManifest& manifest) {
  if (manifest.is_prediction()) {
    if (manifest.is_split()) return kSplitPredictionLeakage;
    if (manifest.is_regression()) return kRegressionPredictionLeakage;
    return manifest.is_ring() ? std::span<const std::string_view>(kRingTreesPredictionLeakage)
                              : kTreesPredictionLeakage;
  }
  if (manifest.is_linear()) return kLinearLeakage;
  if (manifest.is_exact()) return kExactLeakage;
  if (manifest.is_split()) {
    const bool is_protected = manifest.split.hides_labels() || manifest.split.hides_features();
    return is_protected ? kProtectedSplitLeakage : kSplitLeakage;
  }
  if (manifest.is_regression()) return kRegressionLeakage;
  if (manifest.trees.goss) {
    return manifest.is_ring() ? std::span<const std::string_view>(kSampledRingTreesLeakage) : kSampledTreesLeakage;
  }
  return manifest.is_ring() ? std::span<const std::string_view>(kRingTreesLeakage) : kVerticalLeakage;
}

Result<VerticalManifest> parse_manifest(std::string_view text) {
  Problems problems;
  const std::optional<nlohmann::json> json = parse_json(text, problems);
  if (!json) return Error(ErrorCode::malformed, listed(problems));
  VerticalManifest manifest;
  JsonReader reader(*json, "", problems);
  size_t kind = 0;
  reader.require("kind");
  reader.read_choice("kind", kKinds, kind);
  manifest.model = static_cast<VerticalModel>(kind % kVerticalModels);
  if (kind >= kVerticalModels) {
    reader.require("model");
    reader.read("model", manifest.predicts.emplace());
  }
  read_hex(reader, "job", manifest.job);
  JsonReader matching = reader.object("matching");
  read_hex(matching, "salt", manifest.matching.salt);
  matching.read("id_type", manifest.matching.id_type);
  matching.read("bucket_items", manifest.matching.bucket_items);
  matching.read("intersection_min", manifest.matching.intersection_min);
  matching.finish();
  if (!manifest.is_prediction()) {
    switch (manifest.model) {
      case VerticalModel::trees: read_trees(reader, manifest); break;
      case VerticalModel::logistic: read_logistic(reader, manifest); break;
      case VerticalModel::linear: read_linear(reader, manifest.linear); break;
      case VerticalModel::split: read_split(reader, manifest.split); break;
    }
    if (manifest.has_dealer() && !reader.has("parties")) {
      reader.problem(
          "parties",
          "must be there: such a regression needs a coordinator as its dealer, which knows the parties by name");
    }
  }
  if (reader.has("parties")) read_parties(reader, manifest);
  // Behind the settings and the parties, which say what is told.
  std::vector<std::string> leakage;
  reader.read("leakage_ack", leakage);
  if (!std::ranges::equal(leakage, leakage_of(manifest))) {
    reader.problem("leakage_ack", "must be " + listed_rows(leakage_of(manifest)) +
                                      ", what such a job tells the parties of each other");
  }
  reader.finish();
  if (!problems.empty()) return Error(ErrorCode::invalid_argument, listed(problems));
  COT_TRY(vertical::check_psi_settings(manifest.matching));
  COT_TRY(vertical::check_tree_settings(manifest.trees));
  COT_TRY(vertical::check_regression_settings(manifest.logistic));
  COT_TRY(vertical::check_ridge_settings(manifest.linear));
  COT_TRY(vertical::check_split_settings(manifest.split));
  return manifest;
}

std::string write_manifest(const VerticalManifest& manifest) {
  const std::span<const std::string_view> leakage = leakage_of(manifest);
  nlohmann::ordered_json json = {{"kind", manifest_kind(manifest)},
                                 {"job", to_hex(manifest.job)},
                                 {"leakage_ack", std::vector<std::string>(leakage.begin(), leakage.end())},
                                 {"matching",
                                  {{"salt", to_hex(manifest.matching.salt)},
                                   {"id_type", manifest.matching.id_type},
                                   {"bucket_items", manifest.matching.bucket_items},
                                   {"intersection_min", manifest.matching.intersection_min}}}};
  if (manifest.is_prediction()) {
    json["model"] = manifest.predicts->hex();
  } else if (manifest.is_split()) {
    json["split"] = split_json(manifest.split);
  } else if (manifest.is_linear()) {
    json["linear"] = {{"lambda", manifest.linear.lambda}};
  } else if (!manifest.is_regression()) {
    json["trees"] = {{"rounds", manifest.trees.rounds},
                     {"depth", manifest.trees.depth},
                     {"eta", manifest.trees.eta},
                     {"lambda", manifest.trees.lambda},
                     {"min_child_weight", manifest.trees.min_child_weight},
                     {"label_party_first", manifest.trees.label_party_first},
                     {"bins", manifest.bins}};
    // Versions before know one cipher and no key of this name.
    if (manifest.cipher != VerticalCipher::paillier) json["trees"]["cipher"] = vertical_cipher_name(manifest.cipher);
    if (const auto& goss = manifest.trees.goss) {
      json["trees"]["goss"] = {{"top_rate", goss->top_rate}, {"other_rate", goss->other_rate}};
    }
  } else {
    json["logistic"] = {{"mode", kModeNames[static_cast<size_t>(manifest.mode)]},
                        {"epochs", manifest.logistic.epochs},
                        {"batch", manifest.logistic.batch},
                        {"rate", manifest.logistic.rate},
                        {"lambda", manifest.logistic.lambda}};
  }
  if (!manifest.parties.empty()) {
    json["parties"] = {{"label", manifest.parties[0]}};
    if (manifest.is_ring()) {
      json["parties"]["features"] = std::vector(manifest.parties.begin() + 1, manifest.parties.end());
    } else {
      json["parties"]["feature"] = manifest.parties[1];
    }
  }
  return json.dump(2) + "\n";
}

Digest manifest_digest(std::string_view text) { return sha256(as_bytes(text)); }

bool is_held_out(std::string_view id) { return sha256(as_bytes(id)).bytes[0] % kOneIn == 0; }

}  // namespace coterie
