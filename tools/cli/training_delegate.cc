#include "tools/cli/training_delegate.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "tools/delegate/open_delegate.h"
#include "tools/delegate/report_text.h"

namespace coterie {

TrainingDelegate::TrainingDelegate(std::shared_ptr<Delegate> delegate, const Model& model)
    : model_(model), delegate_(std::move(delegate)), delegation_(*delegate_) {}

Result<std::unique_ptr<TrainingDelegate>> TrainingDelegate::open(const std::string& name, const Model& model) {
  if (name.empty()) return std::unique_ptr<TrainingDelegate>();
  COT_ASSIGN(std::shared_ptr<Delegate> delegate, open_delegate(name));
  return std::unique_ptr<TrainingDelegate>(new TrainingDelegate(std::move(delegate), model));
}

std::string TrainingDelegate::text() const { return training_delegate_text(model_, delegation_.report()); }

nlohmann::json TrainingDelegate::json() const { return training_delegate_json(model_, delegation_.report()); }

}  // namespace coterie
