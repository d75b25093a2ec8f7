#include "model_io/contract_targets.h"

#include <algorithm>

#include "base/assert.h"

namespace coterie {
namespace {

constexpr size_t kNamedMax = 8;

std::string names_of(std::span<const ContractTarget> targets) {
  std::string names;
  for (size_t i = 0; i < std::min(targets.size(), kNamedMax); ++i) names += (i == 0 ? "" : ", ") + targets[i].column;
  return targets.size() > kNamedMax ? names + ", ..." : names;
}

}  // namespace

uint64_t target_cells(const InputContract& contract) {
  return contract.targets.empty() ? contract.target.cells : contract.targets.size();
}

std::span<const ContractTarget> targets_of(const InputContract& contract) {
  if (contract.targets.empty()) return {&contract.target, 1};
  return contract.targets;
}

void set_targets(std::vector<ContractTarget> targets, InputContract& contract) {
  COT_ASSERT(!targets.empty());
  contract.target = targets.size() == 1 ? std::move(targets[0]) : ContractTarget();
  contract.targets.clear();
  if (targets.size() > 1) contract.targets = std::move(targets);
}

bool has_number_target(const InputContract& contract) {
  return std::ranges::any_of(targets_of(contract), [](const ContractTarget& each) { return each.is_number; });
}

uint32_t classes_in_header(const InputContract& contract) {
  size_t most = 0;
  if (has_number_target(contract)) return 0;
  for (const ContractTarget& each : targets_of(contract)) most = std::max(most, each.classes.size());
  return static_cast<uint32_t>(most);
}

Status check_one_target(const InputContract& contract, const std::string& taker) {
  if (!has_several_targets(contract)) return {};
  return Error(ErrorCode::invalid_argument, taker + " takes one target, and an example of " + contract.name + " has " +
                                                std::to_string(target_cells(contract)) +
                                                (contract.targets.empty() ? "" : ": " + names_of(contract.targets)));
}

}  // namespace coterie
