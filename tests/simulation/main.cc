// coterie-simulation: any number of simulated rounds, or sessions of secure aggregation, from any seed.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <string>

#include "tests/simulation/sessions/run_sessions.h"
#include "tests/simulation/vertical/run_vertical.h"
#include "tests/simulation/world.h"

namespace {

using namespace coterie::simulation;

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "coterie-simulation: the real round, check-in, ingest, fleet, lease and participant machines under a virtual\n"
      "clock, a bad network, crashes, partitions, stopped leaders, wrong clocks and store outages. Device i adds 1 to "
      "coordinate i, so every model shows who was counted.\n"
      "With --sessions: sessions of secure aggregation instead, with hostile devices and hostile servers.\n"
      "With --vertical: jobs of two to four parties and their coordinator instead, killed between any two effects.\n\n"
      "Examples:\n"
      "  coterie-simulation --rounds 200000 --seed 1 --json\n"
      "  coterie-simulation --seed 4711 --worlds 1            replay one seed\n"
      "  coterie-simulation --mutant ack_before_commit        break a guarantee and watch it being noticed\n"
      "  coterie-simulation --sessions 100000 --seed 7        one session a seed\n"
      "  coterie-simulation --sessions 1 --seed 4711          replay one\n"
      "  coterie-simulation --vertical 10000 --seed 1         two jobs a seed\n"};
  uint64_t rounds = 2'000, seed = 1, worlds = 0, sessions = 0, vertical_jobs = 0;
  std::string mutant_name = "none";
  bool json = false, quiet = false, masked = false;
  app.add_option("--rounds", rounds, "stop after at least this many committed rounds (default 2000)");
  app.add_option("--worlds", worlds, "stop after this many worlds (seeds); 0: by rounds");
  app.add_option("--sessions", sessions, "so many sessions of secure aggregation, and no rounds");
  app.add_option("--vertical", vertical_jobs, "so many vertical jobs, and no rounds");
  app.add_option("--seed", seed, "of the first world; the next ones count up (default 1)");
  app.add_option("--mutant", mutant_name,
                 "none, ack_before_commit, hopeful_lookup, doubt_is_consent, conflict_for_all, early_partials,\n"
                 "orphans_at_once, share_forgotten, board_of_first_round, deaf_lead, buffer_not_cleared,\n"
                 "masked_twice, unmasked_before_freeze, sessions_over_rows, loss_untold,\n"
                 "no_idempotence, no_conflict_check, no_state_check, early_commit, closed_is_over, late_dropped,\n"
                 "masked_is_unsent; with --sessions or --vertical others: an unknown one lists them");
  app.add_flag("--masked", masked, "every world aggregates securely, not one of a dozen");
  app.add_flag("--json", json, "one JSON object as the last line of standard output");
  app.add_flag("--quiet", quiet, "no progress on standard error");
  CLI11_PARSE(app, argc, argv);
  if (sessions > 0) return run_sessions({sessions, seed, mutant_name, json, quiet});
  if (vertical_jobs > 0) return run_vertical({vertical_jobs, seed, mutant_name, json, quiet});
  Mutant mutant = Mutant::none;
  bool known = false;
  for (Mutant candidate : kMutants) {
    if (to_string(candidate) != mutant_name) continue;
    mutant = candidate;
    known = true;
  }
  if (!known) {
    std::fprintf(stderr, "coterie-simulation: unknown mutant %s\n", mutant_name.c_str());
    return 2;
  }

  Verdict total;
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  double shown = 0;
  uint64_t done = 0;
  for (; worlds > 0 ? done < worlds : total.rounds < rounds; ++done) {
    total += simulate(options_from_seed(seed + done, mutant, masked));
    if (!quiet && seconds() - shown > 2) {
      shown = seconds();
      std::fprintf(stderr, "%llu rounds in %.0f s, %llu crashes, %llu problems\n",
                   static_cast<unsigned long long>(total.rounds), shown, static_cast<unsigned long long>(total.crashes),
                   static_cast<unsigned long long>(total.lost + total.doubled + total.phantom + total.stuck));
    }
  }
  const double elapsed = seconds();
  const auto n = [](uint64_t value) { return static_cast<unsigned long long>(value); };
  if (!total.clean()) std::fprintf(stderr, "first problem: %s\n", total.first_problem.c_str());
  if (json) {
    std::printf(
        "{\"rounds\":%llu,\"masked\":%llu,\"worlds\":%llu,\"seed\":%llu,\"crashes\":%llu,\"leaders\":%llu,\"lost\":%"
        "llu,\"doubled\":%"
        "llu,\"phantom\":%llu,"
        "\"stuck\":%llu,\"retries\":%llu,\"conflicts\":%llu,\"events\":%llu,\"trace\":\"%016llx\","
        "\"rounds_per_second\":%.1f}\n",
        n(total.rounds), n(total.masked), n(done), n(seed), n(total.crashes), n(total.leaders), n(total.lost),
        n(total.doubled), n(total.phantom), n(total.stuck), n(total.retries), n(total.conflicts), n(total.events),
        n(total.trace), static_cast<double>(total.rounds) / elapsed);
  } else {
    std::printf(
        "%llu rounds (%llu of them masked) in %llu worlds, %llu crashes, %llu leaders: %llu lost, %llu counted twice, "
        "%llu phantom, %llu "
        "stuck "
        "(%.0f rounds/s, trace %016llx)\n",
        n(total.rounds), n(total.masked), n(done), n(total.crashes), n(total.leaders), n(total.lost), n(total.doubled),
        n(total.phantom), n(total.stuck), static_cast<double>(total.rounds) / elapsed, n(total.trace));
  }
  return total.clean() ? 0 : 1;
}
