// ModelAudit: what an auditor asks of a model, measured on a data set: where it comes from, how good it is and for
// whom, how sure of itself, how robust, and what some of its answers come from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model_io/input_contract.h"
#include "tools/explain/attribution_checks.h"
#include "tools/model/inspect.h"
#include "tools/model/measure.h"
#include "tools/model_report/adversarial.h"
#include "tools/model_report/class_answers.h"
#include "tools/model_report/column_shifts.h"
#include "tools/model_report/disturbances.h"
#include "tools/model_report/drills.h"
#include "tools/model_report/fairness_on_devices.h"
#include "tools/model_report/group_fairness.h"
#include "tools/model_report/ledger_proof.h"
#include "tools/model_report/measure_intervals.h"
#include "tools/model_report/membership_drill.h"
#include "tools/model_report/run_facts.h"

namespace coterie {

class DatasetSource;

struct ModelAudit {
  std::string model_file, data_name;
  ModelReport model;
  std::string data_digest;
  Shape input;
  std::optional<InputContract> contract;
  std::optional<RunFacts> run;
  std::optional<bool> is_of_run;  // whether the run names this file's digest
  std::optional<LedgerProof> ledger;

  std::string loss;
  Evaluation evaluation;
  std::vector<Measure> measures;             // of numbers: mae, rmse, r2; of classes: f1, auc where there are two
  std::vector<MeasureInterval> intervals;    // of the loss, the accuracy and these, where there are any
  std::optional<ClassAnswers> classes;       // of a classifier
  std::optional<DeviceFairness> on_devices;  // of an evaluation job that was named
  std::optional<GroupFairness> fairness;     // where the examples' groups were named
  std::vector<Disturbance> disturbances;     // empty: the model's input is not of numbers
  std::vector<ColumnShift> column_shifts;    // of rows of numbers
  size_t columns_left_out = 0;               // beyond kShiftedColumnsMax
  std::optional<AdversarialSteps> adversarial;
  std::string not_attacked;          // why, where there are none
  std::vector<DrillOutcome> drills;  // of the runs that were named
  std::vector<double> losses;        // of each example (example_scores.h); empty: the model has none
  std::optional<MembershipDrill> membership;
  std::string not_drilled;                // why, where there is none
  std::string method;                     // of the explanations
  std::vector<Explanation> explanations;  // empty: why stands below
  std::optional<AttributionChecks> checks;
  std::string not_explained;

  // The name of a class, or its number.
  std::string class_name(size_t i) const;
};

// That of the ledger, the largest epsilon of a population; else what the run says of itself. None: nothing is promised.
std::optional<PrivacyPromise> promise_of(const ModelAudit& audit);

// What an auditor has to object to, whatever the figures are: a sentence each, without its full stop.
std::vector<std::string> objections(const ModelAudit& audit);

struct AuditSettings {
  AskedModel::GoOn go_on = nullptr;  // while examples are explained
  std::optional<Loss> loss;          // by the data unless given
  uint32_t threads = 1;
  uint64_t seed = 0;  // of noise, random orders, shuffled weights and groups
  uint32_t explained = 6;
  std::string method = "integrated_gradients";
  std::optional<ExampleGroups> groups = {};
  std::string positive = {};  // class that is the positive one, its name or its number; empty: of two the second
};

// `source` has the data's header, `examples` reads it. What a model cannot be asked (several inputs, no classes) is
// left out, and why its answers are not explained stands in not_explained: also where the method is not for it, or what
// it answers is not finite. Each example is read once for all figures, and once for each disturbance. Errors:
// Evaluator's, the source's and GoOn's; invalid_argument (groups of another number of examples, or of a model that has
// neither classes nor one number to say; a positive class that there is not).
Result<ModelAudit> audit_model(const Model& model, const DatasetSource& source, ExampleSource& examples,
                               std::optional<InputContract> contract, std::optional<RunFacts> run,
                               const AuditSettings& settings);

}  // namespace coterie
