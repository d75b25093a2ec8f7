#include "tools/model_report/model_audit.h"

#include <algorithm>
#include <cmath>

#include "device_sdk/runtime/dataset_source.h"
#include "model_io/contract_targets.h"
#include "tools/cli/table.h"
#include "tools/explain/feature_names.h"
#include "tools/model_report/answer_sink.h"

namespace coterie {
namespace {

// The first examples of each class, so that no class takes all places.
Result<std::vector<uint64_t>> chosen_examples(const DatasetSource& source, ExampleSource& examples, const Model& model,
                                              uint32_t count) {
  const DatasetHeader& header = source.header();
  std::vector<uint64_t> chosen;
  std::vector<uint32_t> seen(std::max<uint32_t>(1, header.classes));
  const uint32_t most = header.classes > 0 ? (count + header.classes - 1) / header.classes : count;
  std::vector<float> input(elements(model.input_shape())), target(elements(header.target.shape));
  const Example::Place place = input;
  for (uint64_t i = 0; i < examples.size() && chosen.size() < count; ++i) {
    if (header.classes > 0) {
      COT_TRY(examples.read(i, Example(std::span(&place, 1), target)));
      const int32_t label = reinterpret_cast<const int32_t*>(target.data())[0];
      if (label < 0 || static_cast<size_t>(label) >= seen.size() || seen[static_cast<size_t>(label)]++ >= most)
        continue;
    }
    chosen.push_back(i);
  }
  return chosen;
}

Status explain_some(const Model& model, const DatasetSource& source, ExampleSource& examples,
                    const AuditSettings& settings, ModelAudit& audit) {
  COT_ASSIGN(AskedModel asked, AskedModel::create(model, settings.go_on));
  const AttributionMethod* const method = find_attribution_method(settings.method);
  const AttributionSettings how{.seed = settings.seed};
  COT_ASSIGN(const std::vector<uint64_t> chosen, chosen_examples(source, examples, model, settings.explained));
  if (chosen.empty()) return Error(ErrorCode::invalid_argument, "no example has one of the data's classes");
  for (const uint64_t example : chosen) {
    COT_ASSIGN(Explanation one,
               explain(asked, examples, elements(source.header().target.shape), example, std::nullopt, *method, how));
    audit.explanations.push_back(std::move(one));
  }
  COT_ASSIGN(audit.checks, check_attributions(asked, audit.explanations, *method, how));
  return {};
}

// The class that `name` names; of two classes the second if it is empty, of others none.
Result<std::optional<uint32_t>> positive_class(const ModelAudit& audit, const std::string& name) {
  const size_t classes = audit.classes->classes().size();
  if (name.empty()) return classes == 2 ? std::optional<uint32_t>(1) : std::nullopt;
  // Names first: of classes -1, 0 and 1 the class "1" is the last one.
  for (uint32_t i = 0; i < classes; ++i) {
    if (audit.class_name(i) == name) return std::optional<uint32_t>(i);
  }
  for (uint32_t i = 0; i < classes; ++i) {
    if (std::to_string(i) == name) return std::optional<uint32_t>(i);
  }
  return Error(ErrorCode::invalid_argument, "there is no class \"" + name + "\" to be the positive one: classes are " +
                                                audit.class_name(0) + ", " + audit.class_name(1) +
                                                (classes > 2 ? " and so on, or numbers from 0" : ", or 0 and 1"));
}

// Those who are to see the answers; null where no groups were named.
Result<std::optional<GroupAnswers>> group_answers(const ModelAudit& audit, bool is_of_numbers, uint64_t examples,
                                                  const AuditSettings& settings) {
  if (!settings.groups) return std::optional<GroupAnswers>();
  const std::string column = "by " + settings.groups->column + ": ";
  if (settings.groups->of.size() != examples) {
    return Error(ErrorCode::invalid_argument, column + "there are groups for " +
                                                  std::to_string(settings.groups->of.size()) + " examples, but " +
                                                  std::to_string(examples) + " to judge");
  }
  if (!audit.classes && !is_of_numbers) {
    return Error(ErrorCode::invalid_argument, column + "the model has neither classes nor one number to say");
  }
  std::optional<uint32_t> positive;
  if (audit.classes) {
    COT_ASSIGN(positive, positive_class(audit, settings.positive));
  }
  return std::optional<GroupAnswers>(std::in_place, *settings.groups, positive);
}

// What a model or its data do not allow is left out of the report; whatever else goes wrong ends it.
bool is_left_out(const Error& error) {
  return error.code() == ErrorCode::invalid_argument || error.code() == ErrorCode::too_large;
}

Result<AdversarialSteps> attacked(const Model& model, const LossSettings& loss, ExampleSource& examples,
                                  const AuditSettings& settings) {
  COT_ASSIGN(AskedModel asked, AskedModel::create(model, settings.go_on));
  return adversarial_steps(asked, loss, examples, settings.threads, settings.seed);
}

Status disturb(const Model& model, const LossSettings& loss, const DatasetSource& source, ExampleSource& examples,
               const AuditSettings& settings, ModelAudit& audit) {
  if (model.graph().inputs.size() != 1 || model.input_type() != DataType::float32) {
    audit.not_attacked = "the model has several inputs, or one that is not of numbers";
    return {};
  }
  COT_ASSIGN(audit.disturbances, disturbed(model, loss, examples, settings.threads, settings.seed));
  if (model.input_shape().size() == 1) {
    const std::vector<Feature> columns =
        number_features(model.input_shape(), audit.contract ? &*audit.contract : nullptr);
    audit.columns_left_out = columns.size() - std::min(columns.size(), kShiftedColumnsMax);
    COT_ASSIGN(audit.column_shifts, shifted_columns(model, loss, examples, columns,
                                                    elements(source.header().target.shape), settings.threads));
  }
  Result<AdversarialSteps> steps = attacked(model, loss, examples, settings);
  if (steps) {
    audit.adversarial = std::move(*steps);
  } else {
    if (!is_left_out(steps.error())) return steps.error();
    audit.not_attacked = steps.error().message();
  }
  return {};
}

}  // namespace

std::string ModelAudit::class_name(size_t i) const {
  if (contract && i < contract->target.classes.size()) return contract->target.classes[i];
  return std::to_string(i);
}

Result<ModelAudit> audit_model(const Model& model, const DatasetSource& source, ExampleSource& examples,
                               std::optional<InputContract> contract, std::optional<RunFacts> run,
                               const AuditSettings& settings) {
  if (contract) COT_TRY(check_one_target(*contract, "a report"));
  ModelAudit audit;
  audit.model = inspect(model);
  audit.input = model.input_shape();
  audit.contract = std::move(contract);
  audit.method = settings.method;
  if (const std::optional<Digest> digest = source.digest()) audit.data_digest = digest->hex();
  if (run && !run->model_digest.empty()) audit.is_of_run = run->model_digest == audit.model.digest;
  audit.run = std::move(run);
  const LossSettings loss = loss_for(source.header(), settings.loss);
  audit.loss = to_string(loss.kind);
  if (is_classifier(model, loss)) audit.classes.emplace(static_cast<uint32_t>(model.output_shape()[0]));
  COT_ASSIGN(std::optional<GroupAnswers> groups,
             group_answers(audit, says_a_number(model, loss), examples.size(), settings));
  const auto unit = static_cast<double>(source.header().target.scale);
  OutputSink answers;
  if (audit.classes) answers = class_sink(model, *audit.classes, groups ? &*groups : nullptr);
  else if (groups) answers = number_sink(unit, *groups);
  std::optional<ExampleScores> scores = ExampleScores::of(model, loss, elements(source.header().target.shape));
  const OutputSink also = [&answers, &scores](std::span<const float> outputs, std::span<const float> targets) {
    if (answers) answers(outputs, targets);
    if (scores) scores->add(outputs, targets);
  };
  COT_ASSIGN(Measured measured, measure(model, examples, loss, {"all"}, settings.threads, unit, also));
  audit.evaluation = measured.evaluation;
  audit.measures = std::move(measured.measures);
  if (scores) {
    audit.intervals = measure_intervals(*scores, audit.evaluation, audit.measures,
                                        audit.classes ? audit.classes->right() : SeenShare(), unit);
    audit.losses = scores->losses();
  }
  if (groups) audit.fairness = groups->judged(settings.seed);
  COT_TRY(disturb(model, loss, source, examples, settings, audit));
  if (const Status explained = explain_some(model, source, examples, settings, audit); !explained) {
    if (!is_left_out(explained.error())) return explained.error();
    audit.explanations.clear();
    audit.checks.reset();
    audit.not_explained = explained.error().message();
  }
  return audit;
}

std::optional<PrivacyPromise> promise_of(const ModelAudit& audit) {
  std::optional<PrivacyPromise> promise;
  if (audit.ledger) {
    for (const PopulationProof& population : audit.ledger->populations) {
      if (population.releases == 0) continue;
      promise = {std::max(population.epsilon, promise ? promise->epsilon : 0), audit.ledger->delta};
    }
  } else if (audit.run && audit.run->epsilon && audit.run->delta) {
    promise = {*audit.run->epsilon, *audit.run->delta};
  }
  const bool is_one = promise && promise->epsilon >= 0 && std::isfinite(promise->epsilon) && promise->delta >= 0;
  return is_one ? promise : std::nullopt;
}

std::vector<std::string> objections(const ModelAudit& audit) {
  std::vector<std::string> told;
  if (audit.is_of_run && !*audit.is_of_run) told.emplace_back("the file is not the model that the run made");
  if (audit.ledger && audit.ledger->has_runs_head == false) {
    told.emplace_back("the ledger does not have the head that the run names");
  }
  if (audit.on_devices && !audit.on_devices->is_of_model) told.emplace_back("devices judged another model");
  if (audit.classes && audit.classes->unanswered() > 0) {
    told.push_back("what the model says of " + counted(audit.classes->unanswered(), "example") + " is no number");
  }
  if (const std::optional<PrivacyPromise> promise = promise_of(audit);
      promise && audit.membership && breaks(*audit.membership, *promise)) {
    told.push_back("training examples are told apart further than epsilon " + format_fixed(promise->epsilon, 3) +
                   " allows");
  }
  if (audit.checks && !audit.checks->hold()) told.emplace_back("a check of the explanations does not hold");
  return told;
}

}  // namespace coterie
