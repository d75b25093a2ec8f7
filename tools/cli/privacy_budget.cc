#include "tools/cli/privacy_budget.h"

#include <nlohmann/json.hpp>

#include "tools/cli/report.h"
#include "tools/cli/table.h"

namespace coterie {
namespace {

Result<nlohmann::json> body_of(const BudgetCommand& budget) {
  if (budget.population.empty()) return Error(ErrorCode::invalid_argument, "name the POPULATION whose budget it is");
  nlohmann::json body = {{"population", budget.population}};
  if (budget.is_unlimited) {
    if (budget.epsilon || budget.delta) {
      return Error(ErrorCode::invalid_argument, "--unlimited goes with neither --epsilon nor --delta");
    }
    body["unlimited"] = true;
    return body;
  }
  if (!budget.epsilon || !budget.delta) {
    return Error(ErrorCode::invalid_argument, "a budget is --epsilon at --delta: say both");
  }
  body["epsilon"] = *budget.epsilon;
  body["delta"] = *budget.delta;
  return body;
}

}  // namespace

std::string population_words(const nlohmann::json& population) {
  const auto at = [&](const char* pointer) { return cell_of(population, pointer); };
  const bool is_limited = population.value("epsilon_budget", nlohmann::json()).is_number();
  const bool is_bounded = population.value("epsilon", nlohmann::json()).is_number();
  return at("/population") + ": epsilon " + (is_bounded ? at("/epsilon") : std::string("without bound")) +
         " at delta " + at("/delta") + ", by accountant " + at("/accountant") + ", in " + at("/releases") +
         " releases of " + at("/jobs") + " jobs; " +
         (is_limited ? "budget " + at("/epsilon_budget")
                     : std::string("no budget: nothing limits what further jobs add"));
}

std::string budgets_text(const nlohmann::json& answer) {
  std::string text;
  for (const nlohmann::json& one : answer.value("privacy_budgets", nlohmann::json::array())) {
    text += printable(population_words(one)) + "\n";
  }
  return text.empty() ? "no population has a budget, or a release with noise\n" : text;
}

ExitCode show_or_set_budget(const AdminCommand& command, const BudgetCommand& budget) {
  return with_admin(command, "privacy budget", [&](AdminClient& admin) -> Status {
    nlohmann::json answer;
    if (budget.epsilon || budget.delta || budget.is_unlimited) {
      COT_ASSIGN(const nlohmann::json body, body_of(budget));
      COT_ASSIGN(const nlohmann::json set, admin.post("privacy-budgets", body));
      answer["privacy_budgets"] = nlohmann::json::array({set});
    } else {
      const std::string query = budget.population.empty() ? "" : "?population=" + path_segment(budget.population);
      COT_ASSIGN(answer, admin.get_pages("privacy-budgets" + query, "privacy_budgets"));
    }
    if (command.wants_json()) print_json(answer["privacy_budgets"]);
    else print_text(budgets_text(answer));
    return {};
  });
}

}  // namespace coterie
