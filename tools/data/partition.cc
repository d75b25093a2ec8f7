#include "tools/data/partition.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <numeric>

#include "base/random.h"

namespace coterie {
namespace {

// Each use of chance has its own stream, so that changing one does not change the others.
enum Stream : uint64_t { kHoldOut = 1, kIid = 2, kDirichlet = 3 };

std::map<int32_t, Indices> by_class(std::span<const int32_t> labels, const Indices& examples) {
  std::map<int32_t, Indices> classes;
  for (const uint32_t index : examples) classes[labels[index]].push_back(index);
  return classes;
}

// Gamma(alpha, 1) by Marsaglia and Tsang 2000; below 1 through Gamma(alpha + 1) * U^(1 / alpha).
double gamma(double alpha, Prng& prng) {
  if (alpha < 1) return gamma(alpha + 1, prng) * std::pow(1.0 - prng.uniform(), 1.0 / alpha);
  const double d = alpha - 1.0 / 3.0;
  const double c = 1.0 / std::sqrt(9.0 * d);
  for (;;) {
    const double x = prng.normal();
    const double t = 1.0 + c * x;
    if (t <= 0) continue;
    const double v = t * t * t;
    if (std::log(1.0 - prng.uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
  }
}

std::vector<double> dirichlet(double alpha, size_t count, Prng& prng) {
  std::vector<double> shares(count);
  for (double& share : shares) share = gamma(alpha, prng);
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  if (sum > 0) {
    for (double& share : shares) share /= sum;
  } else {
    shares[prng.below(count)] = 1;  // a tiny alpha underflows; its limit is one device for the class
  }
  return shares;
}

std::vector<Indices> deal(Indices examples, uint32_t devices, Prng& prng) {
  prng.shuffle(examples);
  std::vector<Indices> shards(devices);
  for (size_t i = 0; i < examples.size(); ++i) shards[i % devices].push_back(examples[i]);
  return shards;
}

std::vector<Indices> share_out(double alpha, const Indices& examples, std::span<const int32_t> labels, uint32_t devices,
                               Prng& prng) {
  std::vector<Indices> shards(devices);
  for (auto& [label, members] : by_class(labels, examples)) {
    Indices shuffled = members;
    prng.shuffle(shuffled);
    const std::vector<double> shares = dirichlet(alpha, devices, prng);
    double upto = 0;
    size_t begin = 0;
    for (uint32_t device = 0; device < devices; ++device) {
      upto += shares[device];
      const auto cut = static_cast<size_t>(std::llround(upto * static_cast<double>(shuffled.size())));
      const size_t end = device + 1 == devices ? shuffled.size() : std::clamp(cut, begin, shuffled.size());
      shards[device].insert(shards[device].end(), shuffled.begin() + static_cast<ptrdiff_t>(begin),
                            shuffled.begin() + static_cast<ptrdiff_t>(end));
      begin = end;
    }
  }
  return shards;
}

// Moves examples from the largest shards to those that have too few.
void feed_the_poor(std::vector<Indices>& shards) {
  const auto smaller = [](const Indices& a, const Indices& b) { return a.size() < b.size(); };
  for (Indices& shard : shards) {
    while (shard.size() < kShardExamplesMin) {
      Indices& largest = *std::max_element(shards.begin(), shards.end(), smaller);
      shard.push_back(largest.back());
      largest.pop_back();
    }
  }
}

}  // namespace

HeldOut hold_out(std::span<const int32_t> labels, double fraction, uint64_t seed) {
  Prng prng = Prng::derived(seed, kHoldOut);
  Indices all(labels.size());
  std::iota(all.begin(), all.end(), 0u);
  HeldOut parts;
  for (auto& [label, members] : by_class(labels, all)) {
    Indices shuffled = members;
    prng.shuffle(shuffled);
    const auto count = static_cast<ptrdiff_t>(std::llround(fraction * static_cast<double>(shuffled.size())));
    parts.held_out.insert(parts.held_out.end(), shuffled.begin(), shuffled.begin() + count);
    parts.training.insert(parts.training.end(), shuffled.begin() + count, shuffled.end());
  }
  std::sort(parts.training.begin(), parts.training.end());
  std::sort(parts.held_out.begin(), parts.held_out.end());
  return parts;
}

Result<DataSplit> parse_split(std::string_view text) {
  constexpr std::string_view kPrefix = "dirichlet:";
  if (text == "iid") return DataSplit{};
  if (text.starts_with(kPrefix)) {
    const std::string_view number = text.substr(kPrefix.size());
    double alpha = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), alpha);
    if (error == std::errc() && end == number.data() + number.size() && alpha > 0 && alpha <= 1e6) {
      return DataSplit{false, alpha};
    }
  }
  return Error(ErrorCode::invalid_argument,
               "the split must be iid or dirichlet:ALPHA with ALPHA above 0 (dirichlet:0.3), is " + std::string(text));
}

std::string to_string(const DataSplit& split) {
  if (split.is_iid) return "iid";
  char text[32];
  return "dirichlet:" + std::string(text, std::to_chars(text, text + sizeof text, split.alpha).ptr);
}

Result<std::vector<Indices>> partition(const DataSplit& split, const Indices& examples, std::span<const int32_t> labels,
                                       uint32_t devices, uint64_t seed) {
  if (devices < 1) return Error(ErrorCode::invalid_argument, "there must be at least one device");
  if (examples.size() < devices * kShardExamplesMin) {
    return Error(ErrorCode::invalid_argument, std::to_string(examples.size()) + " examples are too few for " +
                                                  std::to_string(devices) + " devices: each needs at least " +
                                                  std::to_string(kShardExamplesMin));
  }
  if (split.is_iid) {
    Prng prng = Prng::derived(seed, kIid);
    return deal(examples, devices, prng);
  }
  Prng prng = Prng::derived(seed, kDirichlet);
  std::vector<Indices> shards = share_out(split.alpha, examples, labels, devices, prng);
  feed_the_poor(shards);
  return shards;
}

}  // namespace coterie
