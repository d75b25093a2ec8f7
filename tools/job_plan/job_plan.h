// JobPlan: what a job will ask of its devices and of the server, and what it will spend, worked out before anything
// runs by the functions that decide it as it runs. Pure.
//
// Bytes are those of bodies: TLS, headers and the messages of a session of secure aggregation come on top.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "proto/messages/secagg.h"
#include "tools/job_plan/spoiled_cohorts.h"

namespace coterie {

class Model;
struct JobSettings;

// What a device trains of a width.
struct WidthPlan {
  uint32_t width = 0;         // in millionths (proto/messages/model_widths.h)
  uint64_t values = 0;        // of its model
  uint64_t memory_bytes = 0;  // of the trainer
  double operations = 0;      // as DevicePlan::operations
};

// One device in one round.
struct DevicePlan {
  uint64_t down_bytes = 0;  // the model and the plan
  // The same of a version that comes as a delta, by a device that was in the round before; else down_bytes.
  uint64_t delta_down_bytes = 0;
  uint64_t up_bytes = 0;      // the update
  uint64_t memory_bytes = 0;  // of the trainer, so many examples at a time; the model's file comes on top
  uint32_t micro_batch_size = 0;
  uint64_t examples = 0;   // that it goes through, each epoch's counted
  double operations = 0;   // of floating point: a training pass costs three forward passes, a multiply-add is two
  uint64_t own_bytes = 0;  // that it keeps of the job between rounds, and never sends; twice until the next round
  uint32_t clusters = 1;   // models that it fetches and looks at, of which it trains one
  std::vector<WidthPlan> widths = {};  // of a job with some, all of them; what is above is of the whole model
  bool counts = false;                 // instead of training: so many examples once, with analytics
  uint64_t answers = 0;                // of the models that it evaluates, with columns permuted and without
};

// FedProx's mu, where it follows the loss.
struct MuPlan {
  float first = 0, most = 0;
};

// The smallest cohort of a round whose rosters close with as many devices as they wait for.
struct CohortPlan {
  uint32_t cohorts = 0;
  uint32_t devices = 0;
  uint32_t holders = 0, threshold = 0;  // shares of a device's secret, and those that open it
  bool is_complete = false;             // the graph: everybody with everybody
  // That may vanish, and the cohort's sum still opens. In a complete graph whoever they are; else with the probability
  // that secure/secagg/graph_parameters.h promises, and `dropout_share` of them.
  uint32_t losses_max = 0;
};

struct PlannedRound {
  uint32_t tickets = 0;  // devices that get the model
  uint32_t goal = 0, goal_min = 0;
  uint64_t down_bytes = 0, up_bytes = 0;  // all tickets' models, the goal's updates
  uint64_t kept_bytes = 0;                // of updates, at most, where the rule needs each of them; else 0
  std::optional<CohortPlan> cohort;       // with secure aggregation
  std::optional<RulePlan> rule;           // that compares cohorts
};

struct SpendingPlan {
  double epsilon = 0;  // of all rounds; infinite: no accountant has a bound
  double epsilon_budget = 0, delta = 0;
  uint64_t rounds = 0;  // that the budget allows, at most all
};

struct JobPlan {
  std::string name;
  SecurityLevel level = SecurityLevel::none;
  uint64_t rounds = 0;
  DevicePlan device;
  PlannedRound round;
  std::optional<SpendingPlan> spending;  // with noise
  std::optional<MuPlan> mu;              // adaptive
  // Devices that all rounds take, where one that was counted rests for some (rounds.separation_min); else 0.
  uint64_t population_min = 0;
  // Until the job or its budget ends; at most 2^64 - 1. With deltas: if each device is in each round.
  uint64_t down_bytes = 0, up_bytes = 0;
  uint64_t rounds_done() const { return spending ? spending->rounds : rounds; }
};

// `examples`: of each device. Precondition: check_job() found nothing (job_check.h). Errors: of the trainer's plan
// (invalid_argument, too_large), of the cohort's shape (cohort_size, invalid_argument), of the accountants.
Result<JobPlan> plan_job(const JobSettings& settings, const Model& model, uint64_t examples);

}  // namespace coterie
