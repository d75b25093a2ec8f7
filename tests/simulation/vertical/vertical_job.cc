#include "tests/simulation/vertical/vertical_job.h"

#include <algorithm>
#include <vector>

#include "base/random.h"
#include "vertical/exact/exact_settings.h"

namespace coterie::simulation {
namespace {

// People whom one party lacks and all others have.
constexpr uint32_t kLacked = 4;
constexpr uint32_t kFeatureColumns = 2;  // of a feature party
constexpr auto kKinds = static_cast<uint32_t>(kVerticalModels);
// One logistic regression of four: more people than in any other job, and no dealer to be lied about.
constexpr uint32_t kExactJob = kKinds + static_cast<uint32_t>(VerticalModel::logistic);

// How many people all parties have, and how many of them are to be trained on.
struct Crowd {
  uint32_t shared, trained_min;
};

Crowd crowd_of(const VerticalManifest& manifest) {
  if (manifest.is_linear()) return {.shared = 80, .trained_min = 50};  // refused with fewer than ten rows a column
  if (manifest.is_exact()) return {.shared = 132, .trained_min = vertical::exact_rows_min(kFeatureColumns)};
  return {.shared = 20, .trained_min = 16};
}

// Whether the party lacks person i of all: the first ones are those of the feature parties, the last ones the label
// party's.
bool lacks(uint32_t party, uint32_t i, uint32_t people) {
  if (party == 0) return i >= people - kLacked;
  return i / kLacked == party - 1;
}

bool is_shared(uint32_t i, uint32_t people, uint32_t parties) {
  for (uint32_t party = 0; party < parties; ++party) {
    if (lacks(party, i, people)) return false;
  }
  return true;
}

std::vector<std::string> people_of(uint32_t number, const VerticalManifest& manifest) {
  // Some that give all something to train on and something to judge by: who is held out follows from the ids.
  const auto [shared, trained_min] = crowd_of(manifest);
  const auto parties = static_cast<uint32_t>(manifest.parties.size());
  const uint32_t people = shared + parties * kLacked;
  for (uint32_t attempt = 0;; ++attempt) {
    std::vector<std::string> ids;
    uint32_t held_out = 0;
    for (uint32_t i = 0; i < people; ++i) {
      ids.push_back("p" + std::to_string(number) + "-" + std::to_string(attempt) + "-" + std::to_string(i));
      if (is_shared(i, people, parties) && is_held_out(ids.back())) ++held_out;
    }
    if (held_out >= 2 && shared - held_out >= trained_min) return ids;
  }
}

// `variant`: 0 to 3, of its kind.
void set_trees(uint32_t variant, VerticalManifest& manifest) {
  manifest.trees = {.rounds = 4, .depth = 2, .min_child_weight = 0.1, .label_party_first = variant % 2 == 1};
  if (variant >= 2) manifest.trees.goss = {.top_rate = 0.3, .other_rate = 0.3};
  manifest.bins = 4;
}

void set_model(uint32_t number, VerticalManifest& manifest) {
  if (number >= kPairJobs) return set_trees(number - kPairJobs, manifest);
  manifest.model = static_cast<VerticalModel>(number % kKinds);
  set_trees(number / kKinds, manifest);
  manifest.logistic = {.epochs = 30, .batch = 16, .rate = 0.2, .lambda = 0.01};
  if (number == kExactJob) {
    manifest.mode = RegressionMode::exact;
    manifest.logistic = {.epochs = 10, .batch = 1024, .rate = 0.2, .lambda = 0.01};
  }
  manifest.split = {.network = static_cast<vertical::SplitNetwork>(number / kKinds),
                    .hidden = 3,
                    .cut = 2,
                    .top = 3,
                    .embedding = 2,
                    .buckets = 3,
                    .epochs = 4,
                    .batch = 6,
                    .in_flight = 1 + number / kKinds % 2,
                    .commit_steps = 3};
}

}  // namespace

uint32_t parties_of(uint32_t number) { return number < kPairJobs ? 2 : 3 + number % 2; }

VerticalJob make_vertical_job(uint32_t number) {
  const bool is_pooled = number >= kVerticalJobs;
  if (is_pooled) number -= kRingJobs;
  const uint32_t parties = parties_of(number);
  VerticalJob job;
  Prng prng = Prng::derived(number, 0x6a6f62);
  VerticalManifest& manifest = job.manifest;
  for (uint8_t& byte : manifest.job) byte = static_cast<uint8_t>(prng.next());
  for (uint8_t& byte : manifest.matching.salt) byte = static_cast<uint8_t>(prng.next());
  manifest.matching.id_type = "person";
  manifest.matching.bucket_items = 8;
  manifest.matching.intersection_min = 10;
  manifest.parties.assign(kVerticalParties.begin(), kVerticalParties.begin() + parties);
  set_model(number, manifest);

  const std::vector<std::string> ids = people_of(number, manifest);
  const auto people = static_cast<uint32_t>(ids.size());
  if (is_pooled) manifest.parties.resize(2);
  job.tables.resize(manifest.parties.size());
  job.tables[0] = "id,label,a\n";
  const auto table_of = [&](uint32_t party) { return is_pooled ? std::min(party, 1u) : party; };
  for (uint32_t party = 1; party < parties; ++party) {
    std::string& head = job.tables[table_of(party)];
    head += (head.empty() ? "id" : "") + std::string(",b") + std::to_string(party) + ",c" + std::to_string(party);
  }
  for (size_t table = 1; table < job.tables.size(); ++table) job.tables[table] += "\n";
  for (uint32_t i = 0; i < people; ++i) {
    const auto has = [&](uint32_t party) {
      return is_pooled ? is_shared(i, people, parties) : !lacks(party, i, people);
    };
    const uint64_t a = prng.below(10);
    uint64_t sum = a, last = 0;
    std::vector<std::string> lines(job.tables.size());
    for (uint32_t party = 1; party < parties; ++party) {
      const uint64_t b = prng.below(10), c = prng.below(10);
      std::string& line = lines[table_of(party)];
      line += (line.empty() ? ids[i] : "") + "," + std::to_string(b) + "," + std::to_string(c);
      sum += b;
      last = c;
    }
    // Two people at least of each label, whatever is drawn.
    const bool is_one = i % 7 == 0 || (i % 7 != 1 && sum > last + 4 * (parties - 1));
    const std::string label = manifest.is_linear() ? std::to_string(2 * a + sum + last) : (is_one ? "1" : "0");
    lines[0] = ids[i] + "," + label + "," + std::to_string(a);
    for (uint32_t table = 0; table < lines.size(); ++table) {
      if (has(table)) job.tables[table] += lines[table] + "\n";
    }
  }
  job.text = write_manifest(manifest);
  job.digest = manifest_digest(job.text);
  return job;
}

}  // namespace coterie::simulation
