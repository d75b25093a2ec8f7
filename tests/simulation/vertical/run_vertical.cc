#include "tests/simulation/vertical/run_vertical.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "tests/simulation/vertical/vertical_world.h"

namespace coterie::simulation {
namespace {

unsigned long long n(uint64_t value) { return value; }

// In the order of reports. What must not be comes behind what was.
struct Field {
  const char* name;
  uint64_t VerticalVerdict::*value;
};
constexpr Field kFields[] = {
    {"done", &VerticalVerdict::done},
    {"rings", &VerticalVerdict::rings},
    {"cancelled", &VerticalVerdict::cancelled},
    {"given_up", &VerticalVerdict::given_up},
    {"kills", &VerticalVerdict::kills},
    {"ring_kills", &VerticalVerdict::ring_kills},
    {"coordinator_kills", &VerticalVerdict::coordinator_kills},
    {"cuts", &VerticalVerdict::cuts},
    {"stalls", &VerticalVerdict::stalls},
    {"pauses", &VerticalVerdict::pauses},
    {"meetings", &VerticalVerdict::meetings},
    {"replayed", &VerticalVerdict::replayed},
    {"events", &VerticalVerdict::events},
    {"wrong", &VerticalVerdict::wrong},
    {"stuck", &VerticalVerdict::stuck},
    {"unexplained", &VerticalVerdict::unexplained},
    {"replayed_far", &VerticalVerdict::replayed_far},
    {"unapproved", &VerticalVerdict::unapproved},
    {"off_list", &VerticalVerdict::off_list},
    {"illegal", &VerticalVerdict::illegal},
    {"untrue", &VerticalVerdict::untrue},
    {"leaked", &VerticalVerdict::leaked},
    {"dealt_alike", &VerticalVerdict::dealt_alike},
    {"mismatched", &VerticalVerdict::mismatched},
};

}  // namespace

int run_vertical(const VerticalRun& run) {
  const auto mutants = all_vertical_mutants();
  const auto mutant = std::ranges::find(mutants, run.mutant, [](VerticalMutant m) { return to_string(m); });
  if (mutant == mutants.end()) {
    std::fprintf(stderr, "coterie-simulation: no variant %s of vertical jobs; there are", run.mutant.c_str());
    for (const VerticalMutant m : mutants) std::fprintf(stderr, " %s", std::string(to_string(m)).c_str());
    std::fprintf(stderr, "\n");
    return 2;
  }
  VerticalVerdict total;
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  double shown = 0;
  for (uint64_t seed = run.seed; total.jobs < run.jobs; ++seed) {
    const bool was_clean = total.clean();
    total += simulate_vertical(vertical_options_from_seed(seed, *mutant));
    if (was_clean && !total.clean()) {
      std::fprintf(stderr, "first problem: %s\nrepeat it: coterie-simulation --vertical 1 --seed %llu --mutant %s\n",
                   total.first_problem.c_str(), n(seed), run.mutant.c_str());
    }
    if (run.quiet || seconds() - shown <= 2) continue;
    shown = seconds();
    std::fprintf(stderr, "%llu jobs in %.0f s, %llu kills, %llu problems\n", n(total.jobs), shown, n(total.kills),
                 n(total.problems()));
  }
  const double rate = static_cast<double>(total.jobs) / seconds();
  if (run.json) {
    std::printf("{\"jobs\":%llu,\"seed\":%llu", n(total.jobs), n(run.seed));
    for (const Field& field : kFields) std::printf(",\"%s\":%llu", field.name, n(total.*field.value));
    std::printf(",\"trace\":\"%016llx\",\"jobs_per_second\":%.1f}\n", n(total.trace), rate);
  } else {
    std::printf("%llu vertical jobs: ", n(total.jobs));
    for (const Field& field : kFields) std::printf("%llu %s, ", n(total.*field.value), field.name);
    std::printf("trace %016llx (%.1f jobs/s)\n", n(total.trace), rate);
  }
  return total.clean() ? 0 : 1;
}

}  // namespace coterie::simulation
