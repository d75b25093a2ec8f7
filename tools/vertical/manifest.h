// VerticalManifest: what two parties agree on before any byte of their data moves. Both have the same file, and each
// approves it by the SHA-256 of its bytes (`sha256sum manifest.json`).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "vertical/psi/psi_settings.h"
#include "vertical/regression/regression_settings.h"
#include "vertical/regression/ridge.h"
#include "vertical/split/split_settings.h"
#include "vertical/trees/tree_settings.h"

namespace coterie {

// Rows of the leakage ledger (docs/VERTICAL.md) that a training implies, and a prediction with a model of before.
inline constexpr std::array<std::string_view, 3> kVerticalLeakage = {"L1", "L3", "L4"};
inline constexpr std::array<std::string_view, 4> kSampledTreesLeakage = {"L1", "L3", "L13", "L4"};
inline constexpr std::array<std::string_view, 3> kRingTreesLeakage = {"L2", "L3", "L4"};  // of more than two parties
inline constexpr std::array<std::string_view, 4> kSampledRingTreesLeakage = {"L2", "L3", "L13", "L4"};
inline constexpr std::array<std::string_view, 3> kRegressionLeakage = {"L1", "L6", "L10"};
inline constexpr std::array<std::string_view, 3> kExactLeakage = {"L1", "L7", "L10"};
inline constexpr std::array<std::string_view, 3> kLinearLeakage = {"L1", "L11", "L10"};
inline constexpr std::array<std::string_view, 3> kSplitLeakage = {"L1", "L8", "L12"};
inline constexpr std::array<std::string_view, 3> kProtectedSplitLeakage = {"L1", "L9", "L12"};
inline constexpr std::array<std::string_view, 2> kTreesPredictionLeakage = {"L1", "L4"};
inline constexpr std::array<std::string_view, 2> kRingTreesPredictionLeakage = {"L2", "L4"};
inline constexpr std::array<std::string_view, 2> kRegressionPredictionLeakage = {"L1", "L10"};
inline constexpr std::array<std::string_view, 2> kSplitPredictionLeakage = {"L1", "L12"};
inline constexpr uint32_t kVerticalBinsMax = 256;

enum class VerticalModel : uint8_t { trees = 0, logistic = 1, linear = 2, split = 3 };
inline constexpr size_t kVerticalModels = 4;
std::string_view vertical_model_name(VerticalModel model);

// What gradients of trees are encrypted with (secure/he/paillier.h, okamoto_uchiyama.h).
enum class VerticalCipher : uint8_t { paillier = 0, okamoto_uchiyama = 1 };
std::string_view vertical_cipher_name(VerticalCipher cipher);

// How a logistic regression hides what passes: in shares of a dealer's random numbers, or as residuals under the label
// party's key, which are exact and tell more.
enum class RegressionMode : uint8_t { shares = 0, exact = 1 };

struct VerticalManifest {
  std::array<uint8_t, 16> job{};
  vertical::PsiSettings matching;
  vertical::TreeSettings trees;
  uint32_t bins = 32;  // of a column of trees
  VerticalCipher cipher = VerticalCipher::paillier;
  // DNS names in the parties' certificates, the label party's first; empty: two parties that reach each other need
  // none. With a dealer and with a matcher they always have names, as it is their coordinator.
  std::vector<std::string> parties;
  VerticalModel model = VerticalModel::trees;
  vertical::RegressionSettings logistic;
  RegressionMode mode = RegressionMode::shares;  // of a logistic regression
  vertical::RidgeSettings linear;
  vertical::SplitSettings split;
  // A prediction: the SHA-256 of the manifest that the model was trained by, whose parts both parties have. It scores
  // all people whom both tables have. None: a training.
  std::optional<Digest> predicts;

  // More than two parties: a ring, with a matcher.
  bool is_ring() const { return parties.size() > 2; }
  bool is_prediction() const { return predicts.has_value(); }
  bool is_regression() const { return model == VerticalModel::logistic || is_linear(); }
  bool is_exact() const { return model == VerticalModel::logistic && mode == RegressionMode::exact; }
  bool has_dealer() const { return is_regression() && !is_exact() && !is_prediction(); }
  bool is_split() const { return model == VerticalModel::split; }
  bool is_linear() const { return model == VerticalModel::linear; }
};

// "vertical_trees_prediction"
std::string_view manifest_kind(const VerticalManifest& manifest);

// What a manifest must acknowledge.
std::span<const std::string_view> leakage_of(const VerticalManifest& manifest);

// invalid_argument or malformed, with every field that is wrong.
Result<VerticalManifest> parse_manifest(std::string_view text);
std::string write_manifest(const VerticalManifest& manifest);

// The name of the file with these bytes.
Digest manifest_digest(std::string_view text);

// Whether a person is kept from training, to judge the model by: one in five, by SHA-256 of the id, so that both
// parties know without a word. No secret: both know these ids by then.
bool is_held_out(std::string_view id);

}  // namespace coterie
