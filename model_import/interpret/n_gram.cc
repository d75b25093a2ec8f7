// TfIdfVectorizer of integers: how often each n-gram of a pool is in a row.
#include <algorithm>
#include <map>
#include <variant>

#include "model_import/interpret/operator.h"

namespace coterie::model_import {
namespace {

constexpr int64_t kGramMax = 64, kSkipMax = 1 << 16;

struct Grams {
  std::map<std::vector<int64_t>, size_t> numbers;  // in the order of the pool
  std::vector<int64_t> places;                     // of each in the output
  std::vector<double> weights;
  int64_t shortest = 1, longest = 1, skips = 0, width = 0;
};

Result<Grams> grams_of(const Node& node) {
  Grams grams{.numbers = {},
              .places = node.integers("ngram_indexes"),
              .weights = {},
              .shortest = node.integer("min_gram_length", 0),
              .longest = node.integer("max_gram_length", 0),
              .skips = node.integer("max_skip_count", -1)};
  const std::vector<int64_t> counts = node.integers("ngram_counts"), pool = node.integers("pool_int64s");
  if (pool.empty()) return unknown_form("a pool that is not of integers");
  if (grams.shortest < 1 || grams.longest < grams.shortest || grams.longest > kGramMax || grams.skips < 0 ||
      grams.skips > kSkipMax) {
    return bad_form("lengths or skips out of range");
  }
  for (size_t n = 1; n <= counts.size(); ++n) {
    const int64_t begin = counts[n - 1], end = n < counts.size() ? counts[n] : static_cast<int64_t>(pool.size());
    if (begin < 0 || end < begin || end > static_cast<int64_t>(pool.size()) ||
        (end - begin) % static_cast<int64_t>(n) != 0)
      return bad_form("ngram_counts that the pool does not have");
    for (auto at = pool.begin() + begin; at != pool.begin() + end; at += static_cast<std::ptrdiff_t>(n))
      grams.numbers.try_emplace({at, at + static_cast<std::ptrdiff_t>(n)}, grams.numbers.size());
  }
  if (grams.places.size() != grams.numbers.size()) return bad_form("not one index an n-gram");
  for (const int64_t place : grams.places) {
    if (place < 0 || place >= static_cast<int64_t>(grams.places.size())) return bad_form("an index out of range");
    grams.width = std::max(grams.width, place + 1);
  }
  grams.weights.assign(grams.places.size(), 1.0);
  if (const auto given = node.attributes.find("weights"); given != node.attributes.end()) {
    const auto* list = std::get_if<std::vector<float>>(&given->second);
    if (list == nullptr || list->size() != grams.places.size()) return bad_form("not one weight an n-gram");
    grams.weights.assign(list->begin(), list->end());
  }
  return grams;
}

// Elements `skip` + 1 apart; one element alone has no gaps.
void count_in(const Grams& grams, const double* row, int64_t length, double* to) {
  for (int64_t n = grams.shortest; n <= grams.longest; ++n) {
    for (int64_t skip = 0; skip <= (n == 1 ? 0 : grams.skips); ++skip) {
      for (int64_t first = 0; first + (n - 1) * (skip + 1) < length; ++first) {
        std::vector<int64_t> gram;
        for (int64_t i = 0; i < n; ++i) gram.push_back(whole(row[first + i * (skip + 1)]));
        const auto found = grams.numbers.find(gram);
        if (found != grams.numbers.end()) ++to[grams.places[found->second]];
      }
    }
  }
}

Result<Outputs> compute_tf_idf(const Call& call) {
  const Array& x = call.operand(0);
  if (x.rank() != 1 && x.rank() != 2) return bad_form("an operand that is neither a row nor rows");
  COT_ASSIGN(const Grams grams, grams_of(call.node));
  const std::string mode = call.node.text("mode", "");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF") return bad_form("mode " + mode);
  Shape shape = x.shape;
  shape.back() = grams.width;
  COT_ASSIGN(Array y, zeros(Element::real, shape));
  const int64_t rows = x.rank() == 1 ? 1 : x.shape[0], length = x.shape.back();
  for (int64_t row = 0; row < rows; ++row)
    count_in(grams, x.values.data() + row * length, length, y.values.data() + row * grams.width);
  std::vector<double> weights(static_cast<size_t>(grams.width), 1.0);
  for (size_t i = 0; i < grams.places.size(); ++i) weights[static_cast<size_t>(grams.places[i])] = grams.weights[i];
  for (size_t i = 0; i < y.values.size() && mode != "TF"; ++i) {
    const double count = mode == "IDF" ? std::min(1.0, y.values[i]) : y.values[i];
    y.values[i] = count * weights[i % weights.size()];
  }
  return one(std::move(y));
}

}  // namespace

Operator n_gram_operator(const std::string& op) { return op == "TfIdfVectorizer" ? compute_tf_idf : nullptr; }

}  // namespace coterie::model_import
