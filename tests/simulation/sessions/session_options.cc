#include "tests/simulation/sessions/session_options.h"

#include <algorithm>
#include <array>

#include "base/random.h"

namespace coterie::simulation {
namespace {

using secagg::SessionParameters;

constexpr std::array kMutants = {
    SessionMutant::none,
    SessionMutant::sums_twice,
    SessionMutant::no_check_lanes,
    SessionMutant::forgets_input,
    SessionMutant::no_deadlines,
    SessionMutant::no_confirmations,
    SessionMutant::answers_twice,
    SessionMutant::acts_before_saving,
    SessionMutant::trusts_anybody,
    SessionMutant::too_many_corrupt,
    SessionMutant::takes_any_share,
    SessionMutant::takes_any_attempt,
    SessionMutant::opens_again,
    SessionMutant::counts_afterwards,
    SessionMutant::takes_any_level,
    SessionMutant::forgets_level,
};

struct Draw {
  Prng prng;

  uint64_t between(uint64_t low, uint64_t high) { return low + prng.below(high - low + 1); }
  Millis millis(uint64_t low, uint64_t high) { return Millis(between(low, high)); }
  double often_off(double probability_on, double max) {
    return prng.chance(probability_on) ? prng.uniform(0, max) : 0.0;
  }
};

SessionParameters draw_parameters(Draw& draw, uint32_t devices) {
  SessionParameters parameters;
  for (uint8_t& byte : parameters.context.bytes) byte = static_cast<uint8_t>(draw.prng.next());
  parameters.level = draw.prng.chance(0.4) ? SecurityLevel::masked : SecurityLevel::active;
  parameters.survivors_min = static_cast<uint32_t>(draw.between(2, std::max(2u, devices * 4 / 5)));
  parameters.corrupt_share = draw.prng.uniform(parameters.is_active() ? kCorruptShareMin : 0, kCorruptShareMax);
  parameters.dropout_share = draw.prng.uniform(0, 0.4);
  parameters.suite = draw.prng.chance(0.5) ? CipherSuite::aes256_ctr : CipherSuite::chacha20;
  constexpr std::array kRings = {8u, 16u, 20u, 32u, 48u, 64u};
  parameters.ring_bits = kRings[draw.prng.below(kRings.size())];
  parameters.lane_count = draw.between(1, 6);
  return parameters;
}

// Graphs that only many devices have: a ring at masked, holders drawn by the devices at active.
void make_crowd(Draw& draw, SessionOptions& options) {
  SessionParameters& parameters = options.parameters;
  const bool is_active = parameters.is_active();
  options.devices = static_cast<uint32_t>(is_active ? draw.between(256, 270) : draw.between(40, 120));
  parameters.survivors_min = options.devices / 2;
  parameters.corrupt_share = kCorruptShareMin;
  parameters.dropout_share = is_active ? 0.02 : 0.1;
}

void draw_faults(Draw& draw, SessionOptions& options) {
  options.loss = draw.often_off(0.6, 0.2);
  options.duplication = draw.often_off(0.6, 0.3);
  options.delay_max = Millis(draw.between(1, draw.prng.chance(0.3) ? 2'000 : 60));
  options.leaves = draw.often_off(0.5, 0.4);
  if (draw.prng.chance(0.4)) options.device_crash_every = draw.millis(300, 10'000);
  options.crash_in_step = draw.often_off(0.3, 0.2);
  options.state_loss = draw.often_off(0.3, 0.5);
  options.server_crash = draw.prng.chance(0.02);
  options.updates_goal =
      static_cast<uint32_t>(draw.prng.chance(0.3) ? draw.between(1, options.devices) : options.devices);
  options.adverts_goal =
      static_cast<uint32_t>(draw.prng.chance(0.3) ? draw.between(1, options.devices) : options.devices);
}

Attack draw_attack(Draw& draw) {
  return {.two_rosters = draw.prng.chance(0.3),
          .two_models = draw.prng.chance(0.3),
          .two_sets = draw.prng.chance(0.8),
          .fickle = draw.prng.chance(0.4),
          .pushes = draw.prng.chance(0.4),
          .sybils = draw.prng.chance(0.1),
          .lie = draw.often_off(0.5, 0.15)};
}

// So many that there are confirmations for each of two sets: 2 t <= n + c, and one device more on either side of a tie.
uint32_t too_many(uint32_t devices) { return std::min(devices - 2, 2 * (2 * devices / 3 + 1) - devices + 1); }

// A broken variant is looked for where it can be seen.
void fit_to_mutant(Draw& draw, SessionOptions& options) {
  switch (options.mutant) {
    case SessionMutant::none:
    case SessionMutant::sums_twice:
    case SessionMutant::forgets_input:
    case SessionMutant::no_deadlines: return;
    case SessionMutant::takes_any_share:
    case SessionMutant::takes_any_attempt:
    case SessionMutant::opens_again:
    case SessionMutant::counts_afterwards:
    case SessionMutant::takes_any_level:
    case SessionMutant::forgets_level: return;
    case SessionMutant::no_check_lanes:
      options.hostile_server = false;
      options.accomplices = 0;
      options.hostile_devices = 1;
      return;
    case SessionMutant::acts_before_saving: options.device_crash_every = draw.millis(200, 2'000); break;
    case SessionMutant::too_many_corrupt: options.devices = std::clamp(options.devices, 4u, 24u); break;
    case SessionMutant::trusts_anybody:
    case SessionMutant::no_confirmations:
    case SessionMutant::answers_twice: break;
  }
  options.parameters.level = SecurityLevel::active;
  options.parameters.corrupt_share = std::max(options.parameters.corrupt_share, kCorruptShareMin);
  options.hostile_server = true;
  options.hostile_devices = 0;
  options.devices = std::min(options.devices, 24u);
  options.accomplices = options.mutant == SessionMutant::too_many_corrupt
                            ? too_many(options.devices)
                            : static_cast<uint32_t>(draw.between(0, options.devices / 3));
  options.attack = draw_attack(draw);
  options.attack.two_sets = true;
  options.attack.sybils = options.mutant == SessionMutant::trusts_anybody;
  options.attack.pushes = options.mutant == SessionMutant::answers_twice;
  options.attack.fickle = options.mutant == SessionMutant::acts_before_saving;
}

}  // namespace

std::span<const SessionMutant> all_session_mutants() { return kMutants; }

std::string_view to_string(SessionMutant mutant) {
  switch (mutant) {
    case SessionMutant::none: return "none";
    case SessionMutant::sums_twice: return "sums_twice";
    case SessionMutant::no_check_lanes: return "no_check_lanes";
    case SessionMutant::forgets_input: return "forgets_input";
    case SessionMutant::no_deadlines: return "no_deadlines";
    case SessionMutant::no_confirmations: return "no_confirmations";
    case SessionMutant::answers_twice: return "answers_twice";
    case SessionMutant::acts_before_saving: return "acts_before_saving";
    case SessionMutant::trusts_anybody: return "trusts_anybody";
    case SessionMutant::too_many_corrupt: return "too_many_corrupt";
    case SessionMutant::takes_any_share: return "takes_any_share";
    case SessionMutant::takes_any_attempt: return "takes_any_attempt";
    case SessionMutant::opens_again: return "opens_again";
    case SessionMutant::counts_afterwards: return "counts_afterwards";
    case SessionMutant::takes_any_level: return "takes_any_level";
    case SessionMutant::forgets_level: return "forgets_level";
  }
  return "unknown";
}

bool SessionOptions::is_quiet() const {
  return !hostile_server && hostile_devices == 0 && loss == 0 && leaves == 0 && device_crash_every.count() == 0 &&
         crash_in_step == 0 && !server_crash && parameters.dropout_share == 0 && updates_goal == devices &&
         adverts_goal == devices;
}

SessionOptions session_options_from_seed(uint64_t seed, SessionMutant mutant) {
  Draw draw{Prng::derived(seed, 0x736573)};
  SessionOptions options;
  options.seed = seed;
  options.mutant = mutant;
  options.devices = static_cast<uint32_t>(draw.prng.chance(0.9) ? draw.between(2, 12) : draw.between(13, 24));
  options.parameters = draw_parameters(draw, options.devices);
  const bool is_crowd = draw.prng.chance(0.001);
  if (is_crowd) make_crowd(draw, options);
  options.adverts_goal = options.updates_goal = options.devices;
  options.start_max = draw.millis(10, 4'000);
  options.store_delay = draw.millis(1, 200);
  const bool is_quiet = draw.prng.chance(0.1);
  if (is_quiet) {
    options.parameters.dropout_share = 0;  // nobody is given up early
    options.delay_max = draw.millis(1, 500);
    options.duplication = draw.often_off(0.5, 0.3);
  } else {
    draw_faults(draw, options);
  }
  options.advertising_max = options.start_max + draw.millis(3'000, 20'000);
  options.phase_max = draw.millis(is_quiet ? 10'000 : 2'000, 30'000);
  options.collecting_max =
      options.advertising_max + static_cast<int>(draw.between(is_quiet ? 4 : 2, 5)) * options.phase_max;

  options.hostile_server = !is_quiet && !is_crowd && options.parameters.is_active() && draw.prng.chance(0.6);
  if (options.hostile_server) {
    options.accomplices = static_cast<uint32_t>(draw.between(0, options.devices / 3));
    options.attack = draw_attack(draw);
    options.server_crash = false;
  } else if (!is_quiet && draw.prng.chance(0.4)) {
    options.hostile_devices = static_cast<uint32_t>(draw.between(1, std::max(1u, options.devices / 3)));
  }
  fit_to_mutant(draw, options);
  return options;
}

}  // namespace coterie::simulation
