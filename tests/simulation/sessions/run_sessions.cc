#include "tests/simulation/sessions/run_sessions.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "tests/simulation/sessions/plan_writer.h"
#include "tests/simulation/sessions/session_world.h"

namespace coterie::simulation {
namespace {

unsigned long long n(uint64_t value) { return value; }

// In the order of reports. What must not be comes behind what was.
struct Field {
  const char* name;
  uint64_t SessionVerdict::*value;
};
constexpr Field kFields[] = {
    {"sums", &SessionVerdict::sums},
    {"hostile", &SessionVerdict::hostile},
    {"lies", &SessionVerdict::lies},
    {"openings", &SessionVerdict::openings},
    {"faults", &SessionVerdict::faults},
    {"crashes", &SessionVerdict::crashes},
    {"wrong", &SessionVerdict::wrong},
    {"both_kinds", &SessionVerdict::both_kinds},
    {"opened_twice", &SessionVerdict::opened_twice},
    {"two_sets", &SessionVerdict::two_sets},
    {"small", &SessionVerdict::small},
    {"false_roster", &SessionVerdict::false_roster},
    {"failed", &SessionVerdict::failed},
    {"stuck", &SessionVerdict::stuck},
    {"campaigns", &SessionVerdict::campaigns},
    {"plans", &SessionVerdict::plans},
    {"refusals", &SessionVerdict::refusals},
    {"opened_sums", &SessionVerdict::opened_sums},
    {"recovered", &SessionVerdict::recovered},
    {"lowered", &SessionVerdict::lowered},
    {"ground", &SessionVerdict::ground},
    {"events", &SessionVerdict::events},
};

void report_progress(const SessionVerdict& total, double seconds) {
  std::fprintf(stderr, "%llu sessions in %.0f s, %llu sums, %llu lies, %llu problems\n", n(total.sessions), seconds,
               n(total.sums), n(total.lies), n(total.problems()));
}

void print_json(const SessionRun& run, const SessionVerdict& total, double seconds) {
  std::printf("{\"sessions\":%llu,\"seed\":%llu", n(total.sessions), n(run.seed));
  for (const Field& field : kFields) std::printf(",\"%s\":%llu", field.name, n(total.*field.value));
  std::printf(",\"trace\":\"%016llx\",\"sessions_per_second\":%.1f}\n", n(total.trace),
              static_cast<double>(total.sessions) / seconds);
}

void print_text(const SessionVerdict& total, double seconds) {
  std::printf("%llu sessions: ", n(total.sessions));
  for (const Field& field : kFields) std::printf("%llu %s, ", n(total.*field.value), field.name);
  std::printf("trace %016llx (%.0f sessions/s)\n", n(total.trace), static_cast<double>(total.sessions) / seconds);
}

}  // namespace

int run_sessions(const SessionRun& run) {
  const auto mutants = all_session_mutants();
  const auto mutant = std::ranges::find(mutants, run.mutant, [](SessionMutant m) { return to_string(m); });
  if (mutant == mutants.end()) {
    std::fprintf(stderr, "coterie-simulation: no variant %s of sessions; there are", run.mutant.c_str());
    for (const SessionMutant m : mutants) std::fprintf(stderr, " %s", std::string(to_string(m)).c_str());
    std::fprintf(stderr, "\n");
    return 2;
  }
  SessionVerdict total;
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  double shown = 0;
  for (uint64_t seed = run.seed; total.sessions < run.sessions; ++seed) {
    const bool was_clean = total.clean();
    if (is_of_plans(*mutant)) ++total.sessions;
    else total += simulate_session(session_options_from_seed(seed, *mutant));
    if (is_of_plans(*mutant) || *mutant == SessionMutant::none) total += simulate_plans(seed, *mutant);
    if (was_clean && !total.clean()) {
      std::fprintf(stderr, "first problem: %s\nrepeat it: coterie-simulation --sessions 1 --seed %llu --mutant %s\n",
                   total.first_problem.c_str(), n(seed), run.mutant.c_str());
    }
    if (run.quiet || seconds() - shown <= 2) continue;
    shown = seconds();
    report_progress(total, shown);
  }
  if (run.json) print_json(run, total, seconds());
  else print_text(total, seconds());
  return total.clean() ? 0 : 1;
}

}  // namespace coterie::simulation
