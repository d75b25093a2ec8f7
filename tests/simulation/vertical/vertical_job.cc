#include "tests/simulation/vertical/vertical_job.h"

#include <vector>

#include "base/random.h"
#include "vertical/exact/exact_settings.h"

namespace coterie::simulation {
namespace {

// People of whom each party lacks four of the other one's.
constexpr uint32_t kOfOthers = 4;
constexpr uint32_t kFeatureColumns = 2;
constexpr auto kKinds = static_cast<uint32_t>(kVerticalModels);
// One logistic regression of four: more people than in any other job, and no dealer to be lied about.
constexpr uint32_t kExactJob = kKinds + static_cast<uint32_t>(VerticalModel::logistic);

struct Crowd {
  uint32_t people, trained_min;
};

Crowd crowd_of(const VerticalManifest& manifest) {
  if (manifest.is_linear()) return {.people = 88, .trained_min = 50};  // refused with fewer than ten rows a column
  if (manifest.is_exact()) return {.people = 140, .trained_min = vertical::exact_rows_min(kFeatureColumns)};
  return {.people = 28, .trained_min = 16};
}

std::vector<std::string> people_of(uint32_t number, const VerticalManifest& manifest) {
  // Some that give both something to train on and something to judge by: who is held out follows from the ids.
  const auto [people, trained_min] = crowd_of(manifest);
  const uint32_t both = people - 2 * kOfOthers;
  for (uint32_t attempt = 0;; ++attempt) {
    std::vector<std::string> ids;
    uint32_t held_out = 0;
    for (uint32_t i = 0; i < people; ++i) {
      ids.push_back("p" + std::to_string(number) + "-" + std::to_string(attempt) + "-" + std::to_string(i));
      if (i >= kOfOthers && i < people - kOfOthers && is_held_out(ids.back())) ++held_out;
    }
    if (held_out >= 2 && both - held_out >= trained_min) return ids;
  }
}

void set_model(uint32_t number, VerticalManifest& manifest) {
  manifest.model = static_cast<VerticalModel>(number % kKinds);
  manifest.trees = {.rounds = 4, .depth = 2, .min_child_weight = 0.1, .label_party_first = number / kKinds % 2 == 1};
  if (number / kKinds >= 2) manifest.trees.goss = {.top_rate = 0.3, .other_rate = 0.3};
  manifest.bins = 4;
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

VerticalJob make_vertical_job(uint32_t number) {
  VerticalJob job;
  Prng prng = Prng::derived(number, 0x6a6f62);
  VerticalManifest& manifest = job.manifest;
  for (uint8_t& byte : manifest.job) byte = static_cast<uint8_t>(prng.next());
  for (uint8_t& byte : manifest.matching.salt) byte = static_cast<uint8_t>(prng.next());
  manifest.matching.id_type = "person";
  manifest.matching.bucket_items = 8;
  manifest.matching.intersection_min = 10;
  manifest.parties = {kVerticalParties[0], kVerticalParties[1]};
  set_model(number, manifest);
  job.text = write_manifest(manifest);
  job.digest = manifest_digest(job.text);

  const std::vector<std::string> ids = people_of(number, manifest);
  job.tables = {"id,label,a\n", "id,b,c\n"};
  for (uint32_t i = 0; i < ids.size(); ++i) {
    const uint64_t a = prng.below(10), b = prng.below(10), c = prng.below(10);
    // Two people at least of each label, whatever is drawn.
    const bool is_one = i % 7 == 0 || (i % 7 != 1 && a + b > c + 4);
    const std::string label = manifest.is_linear() ? std::to_string(3 * a + b + c) : (is_one ? "1" : "0");
    if (i < ids.size() - kOfOthers) job.tables[0] += ids[i] + "," + label + "," + std::to_string(a) + "\n";
    if (i >= kOfOthers) {
      job.tables[1] += ids[i] + "," + std::to_string(b) + "," + std::to_string(c) + "\n";
    }
  }
  return job;
}

}  // namespace coterie::simulation
