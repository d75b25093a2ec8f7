#include "tests/simulation/options.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace coterie::simulation {
namespace {

// One world in twelve: keys and shares of a device cost as much as a hundred of its plain rounds.
constexpr double kMaskedShare = 0.08;

bool needs_masks(Mutant mutant) {
  return mutant == Mutant::masked_twice || mutant == Mutant::unmasked_before_freeze ||
         mutant == Mutant::sessions_over_rows || mutant == Mutant::loss_untold || mutant == Mutant::masked_is_unsent;
}

// And one in four of the others has buffered rounds.
constexpr double kBufferedShare = 0.25, kBufferedOfMasked = 0.4;

bool needs_buffers(Mutant mutant) { return mutant == Mutant::closed_is_over || mutant == Mutant::late_dropped; }

// Devices of which many take longer than a round. What keeps a state is for synchronous worlds (World).
void make_buffered(WorldOptions& options, Prng& prng) {
  options.is_buffered = true;
  options.devices = std::max(options.devices, 6u);
  const uint32_t least = options.is_masked() ? 3 : 2;
  options.goal_count = static_cast<uint32_t>(least + prng.below(options.devices / 2));
  const auto tickets = static_cast<uint32_t>(std::ceil(options.goal_count * options.over_selection));
  options.concurrency = prng.chance(0.8) ? std::max(options.devices, tickets) : 0;
  options.train_max = Millis(static_cast<int64_t>(1'000 + prng.below(30'000)));
}

// Few devices and few rounds, for time's sake.
void make_masked(WorldOptions& options, Prng& prng) {
  const bool is_active = prng.chance(0.25) && options.mutant != Mutant::masked_is_unsent;
  options.level = is_active ? SecurityLevel::active : SecurityLevel::masked;
  // A request goes through a node to the scheduler: four ways, and a phase is a message there and one back.
  options.delay_max = std::min(options.delay_max, Millis(250));
  options.rounds = static_cast<uint32_t>(2 + prng.below(3));
  options.devices = static_cast<uint32_t>(4 + prng.below(6));
  options.goal_count = static_cast<uint32_t>(3 + prng.below(options.devices - 2));
  if (is_active) return;
  options.dropout_share = prng.uniform(0, 0.4);
  if (prng.chance(0.3)) options.cohort_max = static_cast<uint32_t>(4 + prng.below(3));
  if (prng.chance(kBufferedOfMasked) || options.mutant == Mutant::masked_is_unsent) make_buffered(options, prng);
}

}  // namespace

std::string_view to_string(Mutant mutant) {
  switch (mutant) {
    case Mutant::none: return "none";
    case Mutant::ack_before_commit: return "ack_before_commit";
    case Mutant::share_forgotten: return "share_forgotten";
    case Mutant::board_of_first_round: return "board_of_first_round";
    case Mutant::deaf_lead: return "deaf_lead";
    case Mutant::no_idempotence: return "no_idempotence";
    case Mutant::no_conflict_check: return "no_conflict_check";
    case Mutant::no_state_check: return "no_state_check";
    case Mutant::early_commit: return "early_commit";
    case Mutant::closed_is_over: return "closed_is_over";
    case Mutant::late_dropped: return "late_dropped";
    case Mutant::masked_is_unsent: return "masked_is_unsent";
    case Mutant::buffer_not_cleared: return "buffer_not_cleared";
    case Mutant::masked_twice: return "masked_twice";
    case Mutant::unmasked_before_freeze: return "unmasked_before_freeze";
    case Mutant::sessions_over_rows: return "sessions_over_rows";
    case Mutant::loss_untold: return "loss_untold";
    case Mutant::hopeful_lookup: return "hopeful_lookup";
    case Mutant::early_partials: return "early_partials";
    case Mutant::doubt_is_consent: return "doubt_is_consent";
    case Mutant::conflict_for_all: return "conflict_for_all";
    case Mutant::orphans_at_once: return "orphans_at_once";
  }
  return "unknown";
}

WorldOptions options_from_seed(uint64_t seed, Mutant mutant, bool all_masked) {
  Prng prng = Prng::derived(seed, 0x6f7074);
  const auto between = [&](uint64_t low, uint64_t high) { return low + prng.below(high - low + 1); };
  const auto often_off = [&](double probability_on, double max) {
    return prng.chance(probability_on) ? prng.uniform(0, max) : 0.0;
  };
  const auto every = [&](double probability_on, uint64_t low_ms, uint64_t high_ms) {
    return prng.chance(probability_on) ? Millis(between(low_ms, high_ms)) : Millis(0);
  };
  WorldOptions options;
  options.seed = seed;
  options.rounds = static_cast<uint32_t>(between(4, 16));
  options.nodes = static_cast<uint32_t>(between(1, 4));
  options.devices = static_cast<uint32_t>(between(4, 28));
  options.goal_count = static_cast<uint32_t>(between(2, options.devices));
  options.over_selection = prng.uniform(1.0, 1.6);
  options.loss = often_off(0.7, 0.2);
  options.duplication = often_off(0.7, 0.2);
  options.delay_max = Millis(between(1, prng.chance(0.3) ? 2'000 : 60));
  options.node_crash_every = every(0.7, 500, 20'000);
  options.scheduler_crash_every = every(0.6, 1'000, 30'000);
  options.device_crash_every = every(0.5, 300, 20'000);
  options.store_outage_every = every(0.5, 2'000, 30'000);
  options.store_outage_max = Millis(between(100, 5'000));
  options.store_answer_loss = often_off(0.6, 0.2);
  options.spill_failure = often_off(0.3, 0.1);
  options.store_delay_max = Millis(between(1, 40));
  options.spill_delay_max = Millis(between(1, 200));
  options.train_max = Millis(between(10, 4'000));
  options.schedulers = static_cast<uint32_t>(between(1, 2));
  options.scheduler_stop_every = every(0.5, 2'000, 30'000);
  options.scheduler_stop_max = Millis(between(500, 30'000));
  options.partition_every = every(0.5, 1'000, 20'000);
  options.partition_max = Millis(between(200, 10'000));
  options.clock_jump_every = every(0.3, 3'000, 30'000);
  options.mutant = mutant;
  if (needs_buffers(mutant)) make_buffered(options, prng);
  else if (prng.chance(kMaskedShare) || all_masked || needs_masks(mutant)) make_masked(options, prng);
  else if (prng.chance(kBufferedShare) && mutant != Mutant::early_commit) make_buffered(options, prng);
  return options;
}

}  // namespace coterie::simulation
