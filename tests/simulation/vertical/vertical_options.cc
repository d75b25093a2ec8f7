#include "tests/simulation/vertical/vertical_options.h"

#include <utility>

#include "base/random.h"
#include "tests/simulation/vertical/vertical_job.h"

namespace coterie::simulation {
namespace {

constexpr std::pair<VerticalMutant, std::string_view> kNames[] = {
    {VerticalMutant::none, "none"},
    {VerticalMutant::checkpoint_after_words, "checkpoint_after_words"},
    {VerticalMutant::checkpoints_forgotten, "checkpoints_forgotten"},
    {VerticalMutant::buckets_forgotten, "buckets_forgotten"},
    {VerticalMutant::stale_position, "stale_position"},
    {VerticalMutant::told_before_stored, "told_before_stored"},
    {VerticalMutant::close_ignored, "close_ignored"},
    {VerticalMutant::refused_kept, "refused_kept"},
    {VerticalMutant::pairs_crossed, "pairs_crossed"},
    {VerticalMutant::dealt_anew, "dealt_anew"},
    {VerticalMutant::dealt_alike, "dealt_alike"},
    {VerticalMutant::kind_changed, "kind_changed"},
    {VerticalMutant::state_put_back, "state_put_back"},
    {VerticalMutant::unapproved_paired, "unapproved_paired"},
    {VerticalMutant::last_list_unheard, "last_list_unheard"},
    {VerticalMutant::matcher_kept, "matcher_kept"},
    {VerticalMutant::sample_stale, "sample_stale"},
};

}  // namespace

std::span<const VerticalMutant> all_vertical_mutants() {
  static const auto all = [] {
    std::vector<VerticalMutant> mutants;
    for (const auto& [mutant, name] : kNames) mutants.push_back(mutant);
    return mutants;
  }();
  return all;
}

std::string_view to_string(VerticalMutant mutant) { return kNames[static_cast<size_t>(mutant)].second; }

VerticalOptions vertical_options_from_seed(uint64_t seed, VerticalMutant mutant) {
  Prng prng = Prng::derived(seed, 0x7665727469);
  VerticalOptions options{.seed = seed, .mutant = mutant, .jobs = {}, .faults = {}};
  // Two at a time, of kinds that take turns: what belongs to one must not reach the other.
  const auto first = static_cast<uint32_t>(seed % kVerticalJobs);
  const auto other = static_cast<uint32_t>(prng.below(kVerticalJobs - 1));
  options.jobs = {first, other < first ? other : other + 1};
  constexpr std::array<int, 4> kDelays = {1, 10, 60, 300};
  options.delay_max = Millis(kDelays[prng.below(kDelays.size())]);
  options.restart_max = Millis(prng.chance(0.1) ? 900'000 : 5'000);
  options.pairs_max = prng.chance(0.2) ? 1 : 16;
  options.kill_chance = prng.chance(0.7) ? 0.7 : 0;
  options.kill_effects_max = prng.chance(0.5) ? 60 : 500;
  options.kills_max = 1 + static_cast<uint32_t>(prng.below(4));
  options.has_stranger = prng.chance(0.5);
  const uint64_t pieces = prng.chance(0.5) ? 60 : 400;
  for (uint64_t count = prng.below(5); count > 0; --count) {
    auto fault = static_cast<VerticalFault>(prng.below(kVerticalFaults));
    // What ends a job is rarer than what it goes on from.
    const bool ends_it = fault == VerticalFault::cancel || fault == VerticalFault::abandon;
    if (ends_it && prng.chance(0.4)) fault = VerticalFault::cut;
    const auto job = static_cast<uint32_t>(prng.below(2));
    options.faults.push_back({.at_piece = 1 + prng.below(pieces),
                              .fault = fault,
                              .job = job,
                              .party = static_cast<uint32_t>(prng.below(parties_of(options.jobs[job])))});
  }
  return options;
}

VerticalOptions undisturbed(uint32_t job) {
  return {.seed = 0, .mutant = VerticalMutant::none, .jobs = {job}, .faults = {}};
}

}  // namespace coterie::simulation
