// Budgets of populations on the admin plane: what all the jobs of a population together may spend, and have spent.
#include <cmath>
#include <nlohmann/json.hpp>

#include "fl_server/admin_api/admin_call.h"
#include "fl_server/admin_api/admin_context.h"
#include "fl_server/admin_api/handlers.h"
#include "fl_server/admin_api/problem.h"
#include "fl_server/admin_api/query_reader.h"
#include "fl_server/admin_api/record_json.h"
#include "fl_server/admin_api/tenants.h"
#include "fl_server/json/json_reader.h"
#include "fl_server/store/ledger_store.h"

namespace coterie::admin_handlers {
namespace {

constexpr size_t kPopulationCharsMax = 64;
constexpr double kDeltaOfNoBudget = 1e-6;  // at which epsilon is shown of a population without a budget

// One of the store's list; a population that has neither a budget nor a release is all zeros.
Result<PopulationPrivacy> privacy_of(AdminContext& context, const Population& population) {
  COT_ASSIGN(std::vector<PopulationPrivacy> all, context.ledger.list_population_privacy(kDeltaOfNoBudget));
  for (PopulationPrivacy& one : all) {
    if (one.population == population) return std::move(one);
  }
  PopulationPrivacy nothing;
  nothing.population = population;
  nothing.spent.account.delta = kDeltaOfNoBudget;
  nothing.spent.account.method = "none";
  return nothing;
}

}  // namespace

HttpResponse list_privacy_budgets(AdminContext& context, const AdminCall& call) {
  Problems problems;
  QueryReader reader(call.query, problems);
  const std::optional<std::string> wanted = reader.text("population", kPopulationCharsMax);
  const std::optional<std::string> after = reader.text("after", kPopulationCharsMax);
  const uint64_t limit = reader.limit();
  reader.finish();
  if (!problems.empty()) return query_problem(problems);
  const Result<std::vector<PopulationPrivacy>> all = context.ledger.list_population_privacy(kDeltaOfNoBudget);
  if (!all) return problem_response(all.error());
  const Result<TenantView> own = view_of(context, call, Owned::population);
  if (!own) return problem_response(own.error());
  nlohmann::json list = nlohmann::json::array();
  nlohmann::json json;
  for (const PopulationPrivacy& one : *all) {
    const std::string& name = one.population.value();
    if ((wanted && name != *wanted) || (after && name <= *after) || !own->sees(name)) continue;
    if (list.size() == limit) {
      json["next_after"] = list.back()["population"];
      break;
    }
    list.push_back(to_json(one));
  }
  json["privacy_budgets"] = list;
  return json_response(json);
}

HttpResponse set_privacy_budget(AdminContext& context, const AdminCall& call) {
  Problems problems;
  const auto json = parse_json(as_text(call.body), problems);
  if (!json) return problem_response(Error(ErrorCode::malformed, "the body is not JSON"), problems);
  std::string name;
  bool is_unlimited = false;
  PrivacyBudget budget;
  JsonReader reader(*json, "", problems);
  reader.read("population", name);
  reader.read("unlimited", is_unlimited);
  reader.read("epsilon", budget.epsilon);
  reader.read("delta", budget.delta);
  reader.require("population");
  const bool has_numbers = reader.has("epsilon") || reader.has("delta");
  if (!is_unlimited) {
    reader.require("epsilon");
    reader.require("delta");
  }
  reader.finish();
  if (name.empty() || name.size() > kPopulationCharsMax) {
    problems.push_back({"/population", "must have 1 to 64 characters"});
  }
  if (is_unlimited && has_numbers) problems.push_back({"/unlimited", "goes with neither epsilon nor delta"});
  if (const Status fits = check_budget(budget); !is_unlimited && problems.empty() && !fits) {
    problems.push_back({"/epsilon", fits.error().message()});
  }
  const Error invalid(ErrorCode::invalid_argument, "the budget cannot be set so");
  if (!problems.empty()) return problem_response(invalid, problems);
  const Population population(name);
  if (call.caller.tenant != kEveryTenant) {
    if (const Status claimed = claim_population(context, population, call.caller.tenant); !claimed) {
      return problem_response(invalid, {{"/population", claimed.error().message()}});
    }
  }
  const Status set =
      context.ledger.set_population_budget(population, is_unlimited ? std::nullopt : std::optional(budget));
  if (!set) return problem_response(set.error());
  const Result<PopulationPrivacy> now = privacy_of(context, population);
  if (!now) return problem_response(now.error());
  return json_response(to_json(*now));
}

}  // namespace coterie::admin_handlers
