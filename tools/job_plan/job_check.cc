#include "tools/job_plan/job_check.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "fl_server/evaluation/model_evaluator.h"
#include "fl_server/json/job_json.h"
#include "proto/codec/analytics_table.h"
#include "scheduler/job/analytics_rules.h"
#include "scheduler/job/model_rules.h"
#include "secure/crypto/digest.h"

namespace coterie {
namespace {

// As the admin plane asks when a job is created (fl_server/admin_api/job_creation.cc).
Problems problems_with_model(const HorizontalSettings& settings, const Model& model) {
  const Bytes file(model.file().begin(), model.file().end());
  if (const Status trains = check_training(file, settings.training); !trains && !settings.analytics) {
    return {{"/training", "does not fit the model: " + trains.error().message()}};
  }
  const Result<ModelValues> values = values_of(settings, model.graph(), model.value_count());
  if (!values) return {{"/training", "does not fit the model: " + values.error().message()}};
  return validate_for_model(settings, model.graph(), *values);
}

}  // namespace

namespace {

// A job with analytics brings its model along.
CheckedJob check_analytics_job(const nlohmann::json& job, const Bytes& model_file) {
  CheckedJob checked;
  checked.settings = job_settings_from_json(job, checked.problems);
  if (!checked.problems.empty()) return checked;
  HorizontalSettings& settings = checked.settings.horizontal();
  const Bytes table = new_table(rules_of(*settings.analytics), blocks_of(settings));
  if (!model_file.empty() || (settings.model != Digest() && settings.model != content_digest(table))) {
    checked.problems = {{"/model", "must be absent with analytics: their table is the model"}};
    return checked;
  }
  settings.model = content_digest(table);
  checked.model = Model::load(table).value();
  checked.problems = problems_with_model(settings, *checked.model);
  return checked;
}

}  // namespace

CheckedJob check_job(const nlohmann::json& job, const Bytes& model_file) {
  if (job.is_object() && job.contains("analytics")) return check_analytics_job(job, model_file);
  CheckedJob checked;
  const Digest digest = model_file.empty() ? Digest() : content_digest(model_file);
  nlohmann::json whole = job;
  // `coterie job create` names both, of the files that it is given.
  const bool leaves_open = whole.is_object() && !whole.contains("model") && !whole.contains("evaluation");
  if (whole.is_object() && !whole.contains("model")) whole["model"] = digest.hex();
  if (leaves_open) whole["evaluation"] = Digest().hex();
  checked.settings = job_settings_from_json(whole, checked.problems);
  if (leaves_open) checked.settings.horizontal().evaluation.reset();
  if (!checked.problems.empty() || model_file.empty()) return checked;
  HorizontalSettings& settings = checked.settings.horizontal();
  if (settings.model != digest) {
    checked.problems = {{"/model", "is " + settings.model.hex() + ", and the model file is " + digest.hex()}};
    return checked;
  }
  Result<Model> model = Model::load(model_file);
  if (!model) {
    checked.problems = {{"/model", "is not a model file: " + model.error().message()}};
    return checked;
  }
  checked.model = std::move(*model);
  checked.problems = problems_with_model(settings, *checked.model);
  const bool says_statistics = job.contains("strategy") && job["strategy"].contains("statistics");
  if (!says_statistics && !settings.aggregation.keeps_updates()) {
    settings.strategy.statistics = default_statistics(checked.model->graph(), settings.training);
  }
  return checked;
}

}  // namespace coterie
