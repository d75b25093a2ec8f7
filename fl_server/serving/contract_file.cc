#include "fl_server/serving/contract_file.h"

namespace coterie {

Result<InputContract> read_step_contract(const StepFiles& files, const std::string& path) {
  COT_ASSIGN(const std::string text, files(path));
  Result<InputContract> contract = parse_contract(text);
  if (!contract) return contract.error().with_context(path);
  return contract;
}

}  // namespace coterie
