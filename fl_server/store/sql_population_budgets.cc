// Budgets of populations, and which jobs draw from them.
#include <set>

#include "fl_server/store/sql_training_store.h"

namespace coterie {

// Those whose jobs have made this model. What is a job's first model was uploaded, by anybody: it comes from nobody.
Result<std::vector<Population>> SqlTrainingStore::read_inherited(const JobRecord& job, const Digest& model) {
  Statement rows = database_.prepare(
      "SELECT DISTINCT job_population.population FROM model JOIN job_population ON job_population.job = model.job "
      "WHERE model.digest = ? AND model.version > 0 AND job_population.population <> ? "
      "ORDER BY job_population.population");
  rows << model << job.spec.common.population.value();
  std::vector<Population> populations;
  for (;;) {
    COT_ASSIGN(const bool more, rows.step());
    if (!more) return populations;
    populations.emplace_back(rows.text(0));
  }
}

// Inside the transaction of create_job, before the model is there.
Status SqlTrainingStore::insert_populations(const JobRecord& job, const Digest& model) {
  COT_ASSIGN(const std::vector<Population> inherited, read_inherited(job, model));
  const auto insert = [&](const Population& population, bool is_inherited) -> Status {
    Statement row = database_.prepare("INSERT INTO job_population(job, population, inherited) VALUES(?, ?, ?)");
    row << job.id.value() << population.value() << static_cast<uint64_t>(is_inherited);
    return row.run();
  };
  COT_TRY(insert(job.spec.common.population, false));
  for (const Population& population : inherited) COT_TRY(insert(population, true));
  return {};
}

// The job's own. It has no row if a server of the version before has made the job, beside one of this version.
Result<Population> SqlTrainingStore::population_of(const JobId& job) {
  if (const auto known = populations_.find(job); known != populations_.end()) return known->second;
  Statement row = database_.prepare("SELECT population FROM job_population WHERE job = ? AND inherited = 0");
  row << job.value();
  COT_ASSIGN(const bool found, row.step());
  if (found) return populations_.emplace(job, Population(row.text(0))).first->second;
  const Result<JobRecord> record = read_job(job);
  if (!record && record.error().code() == ErrorCode::not_found) {
    return Error(ErrorCode::data_loss, "privacy ledger: nobody knows which population job " + job.value() +
                                           " has drawn from: its row is gone");
  }
  if (!record) return record.error();
  return populations_.emplace(job, record->spec.common.population).first->second;
}

Result<Population> SqlTrainingStore::ledger_population(const JobId& job) {
  const std::lock_guard lock(mutex_);
  return population_of(job);
}

Result<std::optional<PrivacyBudget>> SqlTrainingStore::read_budget(const Population& population) {
  Statement row = database_.prepare("SELECT epsilon, delta FROM population_budget WHERE population = ?");
  row << population.value();
  COT_ASSIGN(const bool found, row.step());
  return found ? std::optional(PrivacyBudget{row.real(0), row.real(1)}) : std::nullopt;
}

// Who draws from its own population is known by his records. Precondition: the ledger is read.
Result<PopulationDraw> SqlTrainingStore::read_draw(const Population& population, bool is_inherited) {
  PopulationDraw draw{population, is_inherited, std::nullopt, logs_.jobs_of(population)};
  COT_ASSIGN(draw.budget, read_budget(population));
  Statement rows = database_.prepare("SELECT job FROM job_population WHERE population = ? AND inherited = 1");
  rows << population.value();
  for (;;) {
    COT_ASSIGN(const bool more, rows.step());
    if (!more) return draw;
    draw.jobs.emplace_back(rows.text(0));
  }
}

Result<std::vector<PopulationDraw>> SqlTrainingStore::read_draws(const JobRecord& job) {
  std::vector<Population> inherited;
  {
    Statement rows =
        database_.prepare("SELECT population FROM job_population WHERE job = ? AND inherited = 1 ORDER BY population");
    rows << job.id.value();
    for (;;) {
      COT_ASSIGN(const bool more, rows.step());
      if (!more) break;
      inherited.emplace_back(rows.text(0));
    }
  }
  return read_draws(job, inherited);
}

Result<std::vector<PopulationDraw>> SqlTrainingStore::read_draws(const JobRecord& job,
                                                                 const std::vector<Population>& inherited) {
  std::vector<PopulationDraw> draws(1);
  COT_ASSIGN(draws[0], read_draw(job.spec.common.population, false));
  for (const Population& population : inherited) {
    COT_ASSIGN(PopulationDraw draw, read_draw(population, true));
    draws.push_back(std::move(draw));
  }
  return draws;
}

Status SqlTrainingStore::set_population_budget(const Population& population,
                                               const std::optional<PrivacyBudget>& budget) {
  if (budget) COT_TRY(check_budget(*budget));
  const std::lock_guard lock(mutex_);
  if (!budget) {
    Statement remove = database_.prepare("DELETE FROM population_budget WHERE population = ?");
    remove << population.value();
    return remove.run();
  }
  Statement set = database_.prepare(
      "INSERT INTO population_budget(population, epsilon, delta) VALUES(?1, ?2, ?3) "
      "ON CONFLICT(population) DO UPDATE SET epsilon = ?2, delta = ?3");
  set << population.value() << budget->epsilon << budget->delta;
  return set.run();
}

Result<std::vector<PopulationPrivacy>> SqlTrainingStore::list_population_privacy(double delta) {
  const std::lock_guard lock(mutex_);
  COT_TRY(refresh_ledger());
  const std::vector<Population> with_records = logs_.populations();
  std::set<Population> names(with_records.begin(), with_records.end());
  {
    Statement rows = database_.prepare("SELECT population FROM population_budget");
    for (;;) {
      COT_ASSIGN(const bool more, rows.step());
      if (!more) break;
      names.insert(Population(rows.text(0)));
    }
  }
  std::vector<PopulationPrivacy> list;
  for (const Population& name : names) {
    COT_ASSIGN(const PopulationDraw draw, read_draw(name, false));
    COT_ASSIGN(PopulationPrivacy privacy, privacy_of(ledger_, draw, delta));
    list.push_back(std::move(privacy));
  }
  return list;
}

Result<std::string> SqlTrainingStore::why_no_job(const JobRecord& job, const Digest& model) {
  const std::lock_guard lock(mutex_);
  COT_TRY(refresh_ledger());
  COT_ASSIGN(const std::vector<Population> inherited, read_inherited(job, model));
  COT_ASSIGN(const std::vector<PopulationDraw> draws, read_draws(job, inherited));
  return why_not_drawn(ledger_, job, draws);
}

}  // namespace coterie
