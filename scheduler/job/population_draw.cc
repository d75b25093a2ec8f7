#include "scheduler/job/population_draw.h"

#include <algorithm>

#include "scheduler/job/round_release.h"

namespace coterie {
namespace {

// A model may come from another tenant, whose populations have no names here.
std::string name_of(const PopulationDraw& draw) {
  if (draw.is_inherited) return "the population that the job's model comes from: ";
  return "population " + draw.population.value() + ": ";
}

// Empty if the draw admits it.
Result<std::string> why_not(const Ledger& ledger, const JobRecord& job, const PopulationDraw& draw) {
  if (!draw.budget) return std::string();
  if (!has_noise(job.spec)) {
    if (draw.is_inherited) return std::string();
    return name_of(draw) + "it has a privacy budget, and the models of a job without noise keep within none";
  }
  // A tree's noise is paid for with the first round: what follows from it spends nothing more.
  if (is_charged(ledger, job)) return std::string();
  std::vector<JobId> jobs = draw.jobs;
  // A job that has released nothing yet is in no list.
  if (std::ranges::count(jobs, job.id) == 0) jobs.push_back(job.id);
  const Status admitted =
      ledger.admits(jobs, release_of(job.spec.horizontal(), job.values().step_count()), *draw.budget);
  if (admitted) return std::string();
  if (admitted.error().code() != ErrorCode::permission_denied) return admitted.error();
  return name_of(draw) + admitted.error().message();
}

}  // namespace

Result<PopulationPrivacy> privacy_of(const Ledger& ledger, const PopulationDraw& draw, double delta) {
  PopulationPrivacy privacy{.population = draw.population, .budget = draw.budget, .jobs = 0, .spent = {}};
  privacy.jobs = static_cast<uint64_t>(
      std::ranges::count_if(draw.jobs, [&](const JobId& job) { return ledger.has_releases(job); }));
  COT_ASSIGN(privacy.spent, ledger.spent(draw.jobs, draw.budget ? draw.budget->delta : delta));
  return privacy;
}

Result<std::string> why_not_drawn(const Ledger& ledger, const JobRecord& job, std::span<const PopulationDraw> draws) {
  for (const PopulationDraw& draw : draws) {
    COT_ASSIGN(std::string why, why_not(ledger, job, draw));
    if (!why.empty()) return why;
  }
  return std::string();
}

}  // namespace coterie
