#include "tools/vertical/scores.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "tools/data/csv_rows.h"
#include "tools/vertical/party_table.h"

namespace coterie {
namespace {

std::string shortest(float value) {
  char text[40];
  return std::string(text, std::to_chars(text, text + sizeof text, value).ptr);
}

}  // namespace

ScoreQuality judge_scores(std::span<const float> scores, std::span<const float> labels) {
  std::vector<uint32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::sort(order, {}, [&](uint32_t i) { return scores[i]; });
  double rank_sum = 0, ones = 0, loss = 0, squares = 0;
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin;
    while (end < order.size() && scores[order[end]] == scores[order[begin]]) ++end;
    const double rank = static_cast<double>(begin + end + 1) / 2;  // the mean of the tied ones
    for (size_t i = begin; i < end; ++i) {
      const bool is_one = labels[order[i]] == 1;
      const double score = std::clamp(static_cast<double>(scores[order[i]]), 1e-15, 1 - 1e-15);
      const double gap = double{scores[order[i]]} - double{labels[order[i]]};
      squares += gap * gap;
      loss -= std::log(is_one ? score : 1 - score);
      if (is_one) rank_sum += rank;
      if (is_one) ones += 1;
    }
    begin = end;
  }
  const auto count = static_cast<double>(order.size());
  return {.auc = (rank_sum - ones * (ones + 1) / 2) / (ones * (count - ones)),
          .log_loss = loss / count,
          .rmse = std::sqrt(squares / count)};
}

double score_gap(std::span<const float> scores, std::span<const float> others, std::span<const float> labels) {
  constexpr double kRounding = 1.0 / (1 << 22);  // of two floats
  double sum = 0, squares = 0, gap = 0;
  for (const float label : labels) sum += label;
  const double mean = sum / static_cast<double>(labels.size());
  for (const float label : labels) squares += (label - mean) * (label - mean);
  for (size_t i = 0; i < scores.size(); ++i) {
    const double one = scores[i], other = others[i];
    gap = std::max(gap, std::abs(one - other) - kRounding * std::abs(other));
  }
  return squares > 0 ? gap / std::sqrt(squares / static_cast<double>(labels.size())) : gap;
}

std::string scores_csv(const PartyTable& table, std::span<const uint32_t> rows, std::span<const float> scores,
                       bool has_labels) {
  std::string csv = has_labels ? "id,label,score\n" : "id,score\n";
  for (size_t i = 0; i < rows.size(); ++i) {
    csv += csv_quoted((*table.ids)[rows[i]]) + "," + (has_labels ? shortest(table.labels[rows[i]]) + "," : "") +
           shortest(scores[i]) + "\n";
  }
  return csv;
}

std::string ids_csv(const PartyTable& table, std::span<const uint32_t> rows) {
  std::string csv = "id\n";
  for (const uint32_t row : rows) csv += csv_quoted((*table.ids)[row]) + "\n";
  return csv;
}

}  // namespace coterie
