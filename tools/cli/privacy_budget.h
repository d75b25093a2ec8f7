// coterie privacy budget: what all the jobs of a population together may spend.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "tools/cli/admin_command.h"

namespace coterie {

struct BudgetCommand {
  std::string population;         // empty: all, to be shown
  std::optional<double> epsilon;  // set together with delta
  std::optional<double> delta;
  bool is_unlimited = false;
};

// Shows budgets, or sets one and shows it. invalid_argument, before anything is sent, if it says half of a budget.
ExitCode show_or_set_budget(const AdminCommand& command, const BudgetCommand& budget);

// One population of the server's answers: epsilon, of how many releases, and the budget or that there is none. Not
// printable yet: it comes from the server.
std::string population_words(const nlohmann::json& population);
// The answer of /privacy-budgets for a person.
std::string budgets_text(const nlohmann::json& answer);

}  // namespace coterie
