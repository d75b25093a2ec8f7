#include "tools/model_report/membership.h"

#include <algorithm>

#include "device_sdk/runtime/dataset_source.h"
#include "tools/model_report/example_scores.h"

namespace coterie {
namespace {

bool is_read_alike(const ContractColumn& a, const ContractColumn& b, bool standardise) {
  if (a.name != b.name || a.is_category != b.is_category || a.values != b.values || a.text_bytes != b.text_bytes) {
    return false;
  }
  const bool has_same_missing = (a.missing > 0) == (b.missing > 0);
  return has_same_missing && (!standardise || (a.mean == b.mean && a.deviation == b.deviation));
}

// Whether the same row becomes the same numbers and the same class.
bool are_alike(const InputContract& a, const InputContract& b) {
  return a.standardise == b.standardise && a.one_hot == b.one_hot && a.target.classes == b.target.classes &&
         std::ranges::equal(a.columns, b.columns, [&a](const ContractColumn& one, const ContractColumn& other) {
           return is_read_alike(one, other, a.standardise);
         });
}

Error refused(const std::string& what) { return Error(ErrorCode::invalid_argument, "the training examples " + what); }

}  // namespace

Status drill_membership(const Model& model, const DatasetSource& source, ExampleSource& examples,
                        const std::optional<InputContract>& contract, const std::string& data_name,
                        const AuditSettings& settings, ModelAudit& audit) {
  const std::optional<Digest> digest = source.digest();
  if (digest && digest->hex() == audit.data_digest) {
    return refused("are those that the model is judged by: name others for one of the two");
  }
  if (contract && audit.contract && !are_alike(*contract, *audit.contract)) {
    return refused("were read in another way than those that the model is judged by: give both contract=FILE");
  }
  if (audit.losses.empty()) {
    audit.not_drilled = "the model has no loss an example that is told here";
    return {};
  }
  const LossSettings loss = loss_for(source.header(), settings.loss);
  std::optional<ExampleScores> scores = ExampleScores::of(model, loss, elements(source.header().target.shape));
  if (!scores) return refused("have another kind of target than those that the model is judged by");
  const OutputSink sink = [&scores](std::span<const float> outputs, std::span<const float> targets) {
    scores->add(outputs, targets);
  };
  COT_TRY(measure(model, examples, loss, {}, settings.threads, 1, sink));
  audit.membership = membership_drill(scores->losses(), audit.losses);
  audit.membership->data_name = data_name;
  return {};
}

}  // namespace coterie
