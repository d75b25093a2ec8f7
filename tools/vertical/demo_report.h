// What a vertical demo says at its end, and the files that say the same.
#pragma once

#include <string>

#include "base/bytes.h"
#include "tools/vertical/party_report.h"
#include "tools/vertical/scores.h"
#include "vertical/coordinator/coordinator_wire.h"

namespace coterie {

struct VerticalDemoResult {
  Digest manifest;
  PartyReport label;
  std::vector<PartyReport> features = std::vector<PartyReport>(1);  // of each feature party
  vertical::JobView job;                                            // as the coordinator knows it at the end
  VerticalManifest terms;
  uint32_t label_columns = 0, feature_columns = 0;
  ScoreQuality together, pooled, alone;
  uint64_t equal_scores = 0;  // of label.held_out: the same float as the pooled training's
  double score_gap = 0;       // score_gap() of the pooled training's scores
  double seconds = 0;

  // Whether nothing keeps a split network from being as good as one table's: no noise, no turned label.
  bool is_compared() const {
    return !terms.is_split() || !(terms.split.hides_labels() || terms.split.hides_features());
  }
  // A split network begins at weights of its own: its AUC may be a little below. One with protection is not judged.
  // Trees give the same bits as one table. A logistic regression's sigmoid is not quite the exact one: it may be
  // better, and a little worse. One on exact residuals and a linear one have the same scores but for rounding.
  bool is_pooled() const;
};

// How far a regression's log loss on held-out people may be above the pooled one's.
inline constexpr double kRegressionLogLossExcessMax = 0.003;
// The score_gap() of one on exact residuals at most: the feature party's columns are rounded to 2^-12 deviations.
inline constexpr double kExactScoreGapMax = 1e-3;
// How far a split network's AUC on held-out people may be below the one table's.
inline constexpr double kSplitAucLossMax = 0.02;
// The score_gap() of a linear regression at most.
inline constexpr double kLinearScoreGapMax = 1e-6;

// At most 80 columns.
std::string demo_text(const VerticalDemoResult& result, const std::string& folder);
std::string demo_metrics(const VerticalDemoResult& result);  // metrics.json

}  // namespace coterie
