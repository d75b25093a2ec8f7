#include "tools/data/partition.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "base/random.h"
#include "tools/data/csv_rows.h"

namespace coterie {
namespace {

// Each use of chance has its own stream, so that changing one does not change the others.
enum Stream : uint64_t { kHoldOut = 1, kIid = 2, kDirichlet = 3, kShards = 4, kQuantity = 5, kGroups = 6 };

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

// Sorted by class, cut into devices x `pieces`, dealt out by chance.
std::vector<Indices> deal_pieces(size_t pieces, const Indices& examples, std::span<const int32_t> labels,
                                 uint32_t devices, Prng& prng) {
  Indices sorted;
  for (auto& [label, members] : by_class(labels, examples)) {
    Indices shuffled = members;
    prng.shuffle(shuffled);
    sorted.insert(sorted.end(), shuffled.begin(), shuffled.end());
  }
  const size_t count = devices * pieces;
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  prng.shuffle(order);
  std::vector<Indices> shards(devices);
  for (size_t i = 0; i < count; ++i) {
    const size_t begin = order[i] * sorted.size() / count, end = (order[i] + 1) * sorted.size() / count;
    Indices& shard = shards[i % devices];
    shard.insert(shard.end(), sorted.begin() + static_cast<ptrdiff_t>(begin),
                 sorted.begin() + static_cast<ptrdiff_t>(end));
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

namespace {

// What a split's word is followed by.
struct SplitForm {
  SplitKind kind;
  std::string_view word;
  double max;        // of its number; 0: it has none
  double otherwise;  // its number unless given; 0: it must be given
  bool is_whole;
};

// clang-format off
constexpr SplitForm kForms[] = {
    {SplitKind::iid, "iid", 0, 0, false},
    {SplitKind::dirichlet, "dirichlet", 1e6, 0, false},
    {SplitKind::shards, "shards", 1000, 0, true},
    {SplitKind::quantity, "quantity", 1e6, 0, false},
    {SplitKind::noise, "feature:noise", 100, 0.5, false},
    {SplitKind::rotate, "feature:rotate", 180, 45, false},
    {SplitKind::turned, "labels:turned", 8, 2, true},
};
// clang-format on

std::optional<double> value_in(std::string_view text, const SplitForm& form) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  if (!is_number || !(value > 0) || value > form.max) return std::nullopt;
  if (form.is_whole && value != std::floor(value)) return std::nullopt;
  return value;
}

Error too_few(const std::string& who, size_t count) {
  return Error(ErrorCode::invalid_argument, who + " would get " + std::to_string(count) +
                                                (count == 1 ? " example" : " examples") +
                                                ", each device needs at least " + std::to_string(kShardExamplesMin));
}

}  // namespace

Result<DataSplit> parse_split(std::string_view text) {
  for (const auto& [kind, prefix] : {std::pair(SplitKind::group, std::string_view("group:")),
                                     std::pair(SplitKind::file, std::string_view("file:"))}) {
    if (text.starts_with(prefix) && text.size() > prefix.size()) {
      return DataSplit{kind, 0, std::string(text.substr(prefix.size()))};
    }
  }
  for (const SplitForm& form : kForms) {
    if (text == form.word && (form.max == 0 || form.otherwise > 0)) return DataSplit{form.kind, form.otherwise};
    if (form.max == 0 || !text.starts_with(form.word) || text.size() <= form.word.size()) continue;
    if (text[form.word.size()] != ':') continue;
    if (const auto value = value_in(text.substr(form.word.size() + 1), form)) return DataSplit{form.kind, *value};
  }
  return Error(ErrorCode::invalid_argument, "the split must be " + std::string(kSplitNames) +
                                                ", with numbers above 0 (dirichlet:0.3), is " + std::string(text));
}

std::string to_string(const DataSplit& split) {
  if (split.kind == SplitKind::group) return "group:" + split.name;
  if (split.kind == SplitKind::file) return "file:" + split.name;
  for (const SplitForm& form : kForms) {
    if (form.kind != split.kind) continue;
    if (split.value == form.otherwise) return std::string(form.word);
    char text[32];
    return std::string(form.word) + ":" + std::string(text, std::to_chars(text, text + sizeof text, split.value).ptr);
  }
  return "iid";
}

Result<std::vector<Indices>> partition(const DataSplit& split, const Indices& examples, std::span<const int32_t> labels,
                                       uint32_t devices, uint64_t seed) {
  if (devices < 1) return Error(ErrorCode::invalid_argument, "there must be at least one device");
  const auto pieces = split.kind == SplitKind::shards ? static_cast<size_t>(split.value) : 1;
  const size_t least = std::max(kShardExamplesMin, pieces);
  if (examples.size() < devices * least) {
    return Error(ErrorCode::invalid_argument, std::to_string(examples.size()) + " examples are too few for " +
                                                  std::to_string(devices) + " devices: each needs at least " +
                                                  std::to_string(least));
  }
  const bool needs_classes = split.kind == SplitKind::dirichlet || split.kind == SplitKind::shards;
  if (needs_classes && labels.empty()) {
    return Error(
        ErrorCode::invalid_argument,
        "split " + to_string(split) + " goes by classes, and the target is a number; iid and quantity:1 do not");
  }
  if (split.kind == SplitKind::dirichlet) {
    Prng prng = Prng::derived(seed, kDirichlet);
    std::vector<Indices> shards = share_out(split.value, examples, labels, devices, prng);
    feed_the_poor(shards);
    return shards;
  }
  if (split.kind == SplitKind::shards) {
    Prng prng = Prng::derived(seed, kShards);
    return deal_pieces(pieces, examples, labels, devices, prng);
  }
  if (split.kind == SplitKind::quantity) {
    Prng prng = Prng::derived(seed, kQuantity);
    const std::vector<int32_t> one_class(examples.empty() ? 0
                                                          : 1 + *std::max_element(examples.begin(), examples.end()));
    std::vector<Indices> shards = share_out(split.value, examples, one_class, devices, prng);
    feed_the_poor(shards);
    return shards;
  }
  Prng prng = Prng::derived(seed, kIid);
  return deal(examples, devices, prng);
}

Result<Groups> partition_by_group(const Indices& examples, std::span<const std::string> values, uint32_t devices,
                                  uint64_t seed) {
  std::map<std::string, Indices, decltype(&comes_before)> members(&comes_before);
  for (const uint32_t index : examples) members[values[index]].push_back(index);
  if (devices > members.size()) {
    return Error(
        ErrorCode::invalid_argument,
        std::to_string(devices) + " devices are more than the column has values: " + std::to_string(members.size()));
  }
  std::vector<std::string> order;
  for (const auto& [value, indices] : members) order.push_back(value);
  Groups groups;
  if (devices > 0 && devices < order.size()) {
    Prng prng = Prng::derived(seed, kGroups);
    prng.shuffle(order);
  }
  groups.shards.resize(devices == 0 ? order.size() : devices);
  std::vector<size_t> counts(groups.shards.size());
  groups.names.resize(groups.shards.size());
  for (size_t i = 0; i < order.size(); ++i) {
    const size_t device = i % groups.shards.size();
    const Indices& more = members[order[i]];
    groups.shards[device].insert(groups.shards[device].end(), more.begin(), more.end());
    groups.names[device] = ++counts[device] == 1 ? order[i] : std::to_string(counts[device]) + " groups";
  }
  for (size_t device = 0; device < groups.shards.size(); ++device) {
    const size_t size = groups.shards[device].size();
    if (size < kShardExamplesMin) return too_few("the device of group \"" + groups.names[device] + "\"", size);
  }
  return groups;
}

Result<ShardAssignment> parse_assignment(std::string_view text, size_t examples) {
  constexpr uint32_t kDevicesMax = 1'000'000;
  ShardAssignment assignment;
  for (size_t line = 1; !text.empty(); ++line) {
    const size_t end = text.find('\n');
    std::string_view word = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (word.ends_with('\r')) word.remove_suffix(1);
    uint32_t device = ShardAssignment::kNobody;
    if (word == "held-out") {
      device = ShardAssignment::kHeldOut;
      assignment.holds_out = true;
    } else if (word != "-") {
      const auto [stopped, error] = std::from_chars(word.data(), word.data() + word.size(), device);
      if (error != std::errc() || stopped != word.data() + word.size() || device < 1 || device > kDevicesMax) {
        return Error(ErrorCode::malformed, "line " + std::to_string(line) +
                                               ": expected a device counted from 1, held-out or -, is \"" +
                                               std::string(word) + "\"");
      }
      assignment.count = std::max(assignment.count, device);
    }
    assignment.devices.push_back(device);
  }
  if (assignment.devices.size() == examples) return assignment;
  return Error(ErrorCode::invalid_argument, "has " + std::to_string(assignment.devices.size()) +
                                                " lines, expected one for each of the " + std::to_string(examples) +
                                                " examples");
}

Result<std::vector<Indices>> partition_as_assigned(const ShardAssignment& assignment, const Indices& examples) {
  std::vector<Indices> shards(assignment.count);
  for (const uint32_t index : examples) {
    const uint32_t device = assignment.devices[index];
    if (device != ShardAssignment::kNobody && device != ShardAssignment::kHeldOut) shards[device - 1].push_back(index);
  }
  for (size_t device = 0; device < shards.size(); ++device) {
    if (shards[device].size() < kShardExamplesMin) {
      return too_few("device " + std::to_string(device + 1), shards[device].size());
    }
  }
  if (shards.empty()) return Error(ErrorCode::invalid_argument, "names no device");
  return shards;
}

}  // namespace coterie
