// Frequent words of a text whose lines are devices: each has one word of its line, by chance. The job of
// docs/operating/analytics.md#frequent-strings, round by round, with the noise of its epsilon; beside it TrieHH (Zhu et
// al. 2020) on the same words.
//
//   coterie-bench-heavy-hitters TEXT     a line behind an empty one that ends with a colon says who speaks, and is
//                                        nobody's
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/os/file.h"
#include "base/random.h"
#include "proto/messages/analytics_lanes.h"
#include "proto/messages/hitter_lanes.h"
#include "scheduler/job/analytics_rules.h"
#include "scheduler/job/heavy_hitters.h"
#include "scheduler/job/round_question.h"
#include "secure/dp/account/account.h"

namespace coterie {
namespace {

constexpr uint32_t kLength = 10, kSeeds = 5;
constexpr size_t kTop = 10;
constexpr double kDelta = 1e-6, kEpsilon = 4;
// TrieHH's, for so many devices: of its paper's rule at epsilon 4 and length 10.
constexpr uint32_t kTrieVoters = 647, kTrieThreshold = 13;

using Words = std::vector<std::string>;

std::vector<Words> words_of_lines(const std::string& text) {
  std::vector<Words> lines;
  std::istringstream in(text);
  bool is_after_empty = true;
  for (std::string line; std::getline(in, line);) {
    const bool is_speaker = is_after_empty && line.ends_with(':');
    is_after_empty = line.empty();
    if (is_speaker) continue;
    Words words;
    std::string word;
    for (const char byte : line + " ") {
      const auto letter = static_cast<unsigned char>(byte);
      if (std::isalpha(letter) != 0 || (byte == '\'' && !word.empty())) {
        word.push_back(static_cast<char>(std::tolower(letter)));
      } else if (!word.empty()) {
        words.push_back(word.substr(0, kLength));
        word.clear();
      }
    }
    if (!words.empty()) lines.push_back(std::move(words));
  }
  return lines;
}

Words draw(const std::vector<Words>& lines, Prng& prng) {
  Words drawn;
  for (const Words& words : lines) drawn.push_back(words[prng.below(words.size())]);
  return drawn;
}

std::map<std::string, uint64_t> counts_of(const Words& words) {
  std::map<std::string, uint64_t> counts;
  for (const std::string& word : words) ++counts[word];
  return counts;
}

Words top_of(const Words& words) {
  std::vector<std::pair<uint64_t, std::string>> all;
  for (const auto& [word, count] : counts_of(words)) all.emplace_back(count, word);
  std::ranges::sort(all, std::greater());
  Words top;
  for (size_t i = 0; i < std::min(kTop, all.size()); ++i) top.push_back(all[i].second);
  return top;
}

struct Score {
  size_t of_top = 0, told = 0, wrong = 0;  // wrong: nobody has it
};
Score score(const std::set<std::string>& told, const Words& words) {
  Score score{.told = told.size()};
  for (const std::string& word : top_of(words)) score.of_top += told.contains(word);
  const std::set<std::string> real(words.begin(), words.end());
  for (const std::string& word : told) score.wrong += !real.contains(word);
  return score;
}

// The least noise multiplier with which so many rounds stay within kEpsilon.
double multiplier_for(uint32_t releases) {
  double low = 0.1, high = 100;
  for (int i = 0; i < 40; ++i) {
    const double middle = std::sqrt(low * high);
    const auto account = account_for({{GaussianNoise{middle}, Sampling::none(), releases}}, kDelta);
    (account && account->epsilon <= kEpsilon ? high : low) = middle;
  }
  return high;
}

HorizontalSettings job_for(size_t devices, double multiplier, uint32_t threshold) {
  AnalyticsSettings analytics;
  analytics.rules = {.kind = AnalyticsKind::heavy_hitters, .input_values = kLength};
  analytics.rules.hitters = HitterRules{.length_max = kLength, .alphabet = {'\''}, .prefixes_max = 128};
  for (uint8_t byte = 'a'; byte <= 'z'; ++byte) analytics.rules.hitters->alphabet.push_back(byte);
  analytics.threshold = threshold;
  HorizontalSettings settings;
  set_defaults(analytics, settings);
  settings.analytics = analytics;
  settings.rounds.goal_count = static_cast<uint32_t>(devices);
  settings.privacy.level = SecurityLevel::none;
  if (multiplier > 0) settings.privacy.noise_multiplier = multiplier;
  if (multiplier > 0) settings.privacy.target_delta = kDelta;
  return settings;
}

// Round r asks everybody, or of the words those from r n on.
Score look(const HorizontalSettings& settings, const Words& words, bool asks_others, Prng& prng) {
  std::vector<std::vector<float>> blocks;
  const double noise = lane_noise_of(settings, settings.rounds.ticket_count());
  const size_t share = asks_others ? words.size() / settings.rounds.count : words.size();
  for (uint32_t round = 0; round < settings.rounds.count; ++round) {
    const HitterRules rules = *question_of_round(settings, blocks).rules.hitters;
    std::vector<float> counts(hitter_lane_count(rules));
    for (size_t i = 0; i < share; ++i) {
      const auto lane = hitter_lane(rules, words[(asks_others ? round * share : 0) + i]);
      if (lane) ++counts[*lane];
    }
    for (float& count : counts) count += static_cast<float>(noise * prng.normal());
    blocks.push_back(std::move(counts));
  }
  std::set<std::string> told;
  for (const CountedString& one : heavy_hitters_of(settings, blocks).strings) told.insert(one.text);
  return score(told, words);
}

// Algorithm 1 of the paper: in each round some devices, drawn by chance, vote for what follows the prefix of their word
// in the tree; what has kTrieThreshold votes is in the tree. A word ends with a byte of its own.
Score trie(const Words& words, Prng& prng) {
  std::set<std::string> tree = {""}, told;
  for (uint32_t length = 1; length <= kLength + 1; ++length) {
    std::map<std::string, uint32_t> votes;
    std::set<size_t> voters;
    while (voters.size() < kTrieVoters) voters.insert(prng.below(words.size()));
    for (const size_t voter : voters) {
      const std::string word = words[voter] + "$";
      if (word.size() >= length && tree.contains(word.substr(0, length - 1))) ++votes[word.substr(0, length)];
    }
    std::set<std::string> next;
    for (const auto& [prefix, count] : votes) {
      if (count < kTrieThreshold) continue;
      if (prefix.ends_with('$')) told.insert(prefix.substr(0, prefix.size() - 1));
      else next.insert(prefix);
    }
    tree = std::move(next);
  }
  return score(told, words);
}

void print(const char* what, const std::vector<Score>& scores) {
  std::printf("%-44s", what);
  for (const Score& one : scores) std::printf("  %zu/%zu (%zu, %zu)", one.of_top, kTop, one.told, one.wrong);
  std::printf("\n");
}

int run(const char* path) {
  const Result<Bytes> file = os::read_file(path, 64 << 20);
  if (!file) {
    std::fprintf(stderr, "%s\n", file.error().message().c_str());
    return 1;
  }
  const std::vector<Words> lines = words_of_lines(std::string(file->begin(), file->end()));
  const double multiplier = multiplier_for(kLength);
  std::printf("%zu devices; epsilon %g at delta %g: noise multiplier %.3f\n", lines.size(), kEpsilon, kDelta,
              multiplier);
  std::printf("of the top %zu (told in all, told that nobody has), a seed a column\n\n", kTop);
  std::vector<Score> plain, everybody, others, peer;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Prng prng(seed);
    const Words words = draw(lines, prng);
    plain.push_back(look(job_for(words.size(), 0, 20), words, false, prng));
    everybody.push_back(look(job_for(words.size(), multiplier, 20), words, false, prng));
    others.push_back(look(job_for(words.size() / kLength, multiplier, 2), words, true, prng));
    peer.push_back(trie(words, prng));
  }
  const auto threshold = [&](double devices, double times) {
    return hitter_threshold(job_for(static_cast<size_t>(devices), times, 2));
  };
  print("no noise, from 20 devices on", plain);
  print("epsilon 4, everybody in each round", everybody);
  print("epsilon 4, other devices in each round", others);
  print("TrieHH, epsilon 4 by its paper", peer);
  std::printf("\nthreshold with noise: %.1f devices\n", threshold(static_cast<double>(lines.size()), multiplier));
  return 0;
}

}  // namespace
}  // namespace coterie

int main(int count, char** arguments) {
  if (count == 2) return coterie::run(arguments[1]);
  std::fprintf(stderr, "usage: coterie-bench-heavy-hitters TEXT\n");
  return 2;
}
