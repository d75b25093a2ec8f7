// A job's plan for people, in at most 80 columns, and for programs. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tools/job_plan/job_plan.h"

namespace coterie {

std::string job_plan_text(const JobPlan& plan);
// "schema": "coterie.job_plan.v1"
nlohmann::json job_plan_json(const JobPlan& plan);

}  // namespace coterie
