// What a server would say of a job before it creates it, said here: the form of its file, its values, and whether they
// go with its model.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "base/bytes.h"
#include "base/problem.h"
#include "device_sdk/runtime/model.h"
#include "scheduler/job/job_settings.h"

namespace coterie {

struct CheckedJob {
  JobSettings settings;
  std::optional<Model> model;  // what `model_file` holds, if it is one
  Problems problems;           // all that is wrong; empty: a server takes it, if its population's budget does
};

// `model_file`: whole; empty: the job is judged by itself. A job that names no model gets this one; what it leaves out
// otherwise is at its default. What the server alone can say is not looked at: the evaluation's data, the tenant's
// quotas, what the population has spent. Nothing further is said of a form that is wrong.
CheckedJob check_job(const nlohmann::json& job, const Bytes& model_file);

}  // namespace coterie
