// The membership drill of a report (membership_drill.h): the losses of what a model was trained on.
#pragma once

#include <string>

#include "tools/model_report/model_audit.h"

namespace coterie {

class DatasetSource;

// Adds the drill to an audit that has the losses of the others, or says in not_drilled why there is none. `source` has
// the header of the members, `examples` reads them; `contract` is theirs. Errors: Evaluator's, the source's;
// invalid_argument where members are the audit's own examples, or were read by another contract.
Status drill_membership(const Model& model, const DatasetSource& source, ExampleSource& examples,
                        const std::optional<InputContract>& contract, const std::string& data_name,
                        const AuditSettings& settings, ModelAudit& audit);

}  // namespace coterie
