#include "base/text/suggest.h"

#include <algorithm>

namespace coterie {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> distance(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        distance[i][j] = i + j;
        continue;
      }
      const size_t replaced = distance[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      distance[i][j] = std::min({replaced, distance[i - 1][j] + 1, distance[i][j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) distance[i][j] = std::min(distance[i][j], distance[i - 2][j - 2] + 1);
    }
  }
  return distance[a.size()][b.size()];
}

std::string closest_word(std::string_view typed, const std::vector<std::string>& words) {
  std::string best;
  size_t best_distance = SIZE_MAX;
  for (const std::string& word : words) {
    const bool begins = typed.size() >= 2 && word.starts_with(typed);
    const size_t distance = begins ? 0 : edit_distance(typed, word);
    const size_t allowed = std::max<size_t>(1, word.size() / 3);
    if (distance <= allowed && distance < best_distance) {
      best = word;
      best_distance = distance;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view typed, const std::vector<std::string>& words) {
  const std::string meant = closest_word(typed, words);
  return meant.empty() ? "." : ". Did you mean `" + meant + "`?";
}

std::string or_meant(std::string_view typed, const std::vector<std::string>& words) {
  const std::string meant = closest_word(typed, words);
  return meant.empty() ? "" : "; did you mean `" + meant + "`?";
}

std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

}  // namespace coterie
