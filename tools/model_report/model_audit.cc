#include "tools/model_report/model_audit.h"

#include <algorithm>

#include "device_sdk/runtime/dataset_source.h"

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

// What a model or its data do not allow is left out of the report; whatever else goes wrong ends it.
bool is_left_out(const Error& error) {
  return error.code() == ErrorCode::invalid_argument || error.code() == ErrorCode::too_large;
}

}  // namespace

std::string ModelAudit::class_name(size_t i) const {
  if (contract && i < contract->target.classes.size()) return contract->target.classes[i];
  return std::to_string(i);
}

Result<ModelAudit> audit_model(const Model& model, const DatasetSource& source, ExampleSource& examples,
                               std::optional<InputContract> contract, std::optional<RunFacts> run,
                               const AuditSettings& settings) {
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
  OutputSink also;
  if (loss.target == TargetKind::labels && model.output_shape().size() == 1 && model.output_shape()[0] > 1) {
    audit.classes.emplace(static_cast<uint32_t>(model.output_shape()[0]));
    COT_ASSIGN(also, class_sink(model, loss, *audit.classes));
  }
  COT_ASSIGN(Measured measured, measure(model, examples, loss, {"all"}, settings.threads,
                                        static_cast<double>(source.header().target.scale), also));
  audit.evaluation = measured.evaluation;
  audit.measures = std::move(measured.measures);
  const bool has_one_input = model.graph().inputs.size() == 1 && model.input_type() == DataType::float32;
  if (has_one_input) {
    COT_ASSIGN(audit.disturbances, disturbed(model, loss, examples, settings.threads, settings.seed));
  }
  if (const Status explained = explain_some(model, source, examples, settings, audit); !explained) {
    if (!is_left_out(explained.error())) return explained.error();
    audit.explanations.clear();
    audit.checks.reset();
    audit.not_explained = explained.error().message();
  }
  return audit;
}

}  // namespace coterie
