// How well scores tell people with label 1 from those with label 0, and how far they are from the labels; scores as a
// file.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace coterie {

struct PartyTable;

struct ScoreQuality {
  double auc = 0;       // probability that a 1 scores above a 0, ties by half; NaN without both
  double log_loss = 0;  // mean; NaN without scores
  double rmse = 0;      // root of the mean squared difference; NaN without scores
};

// Both have one entry a person. Labels are 0 or 1, or numbers, of which only the last says something.
ScoreQuality judge_scores(std::span<const float> scores, std::span<const float> labels);

// The largest difference between two rows of scores, in deviations of the labels; what rounding to floats explains is
// none.
double score_gap(std::span<const float> scores, std::span<const float> others, std::span<const float> labels);

// "id,label,score", or "id,score" without labels, a line for each of these rows of the table.
std::string scores_csv(const PartyTable& table, std::span<const uint32_t> rows, std::span<const float> scores,
                       bool has_labels);
// "id", and those of these rows.
std::string ids_csv(const PartyTable& table, std::span<const uint32_t> rows);

}  // namespace coterie
