// coterie privacy: its grammar.
#include <memory>

#include "secure/dp/account/limits.h"
#include "tools/cli/arguments.h"
#include "tools/cli/help.h"
#include "tools/cli/privacy_account.h"
#include "tools/cli/privacy_budget.h"
#include "tools/cli/privacy_show.h"
#include "tools/cli/privacy_verify.h"

namespace coterie {
namespace {

using namespace account_limits;

// Takes a word for the group that the words so far have reached, so each is carried out as it is read.
template <typename Value, typename Take>
CLI::Option* add_to_group(CLI::App* app, const char* name, PrivacyCommand& command, const char* what, Take take) {
  return app
      ->add_option_function<Value>(
          name, [&command, take](const Value& value) { take(command.groups.back(), value); }, what)
      ->trigger_on_parse();
}

void add_group_options(CLI::App* app, PrivacyCommand& command) {
  using Group = PrivacyGroup;
  add_to_group<std::string>(app, "--mechanism", command, "of the noise",
                            [](Group& g, const std::string& v) { g.mechanism = v; })
      ->default_str("gaussian")
      ->type_name("NAME")
      ->check(one_of({"gaussian", "laplace", "discrete_gaussian", "discrete_laplace", "skellam", "tree"}));
  add_to_group<std::string>(
      app, "--sampling", command,
      "none, poisson:RATE or without_replacement:DRAWN/ALL: who takes part in a step. The report says "
      "that you claim it; devices that come when they like are not sampled",
      [](Group& g, const std::string& v) { g.sampling = v; })
      ->default_str("none")
      ->type_name("HOW")
      ->check(checked_by(&parse_sampling));
  add_to_group<double>(app, "--noise-multiplier", command,
                       "standard deviation of the noise (laplace: its scale) over what one person can move a step by",
                       [](Group& g, double v) { g.noise_multiplier = v; })
      ->type_name("Z")
      ->check(between<double>(kNoiseMultiplierMin, kNoiseMultiplierMax));
  add_to_group<uint64_t>(app, "--steps", command, "releases of this kind; of tree: its leaves",
                         [](Group& g, uint64_t v) { g.steps = v; })
      ->default_str("1")
      ->type_name("T")
      ->check(between<uint64_t>(1, kStepsMax));
  add_to_group<double>(app, "--sensitivity", command,
                       "of discrete noise: how many steps of its grid one person can move the sum by, as L2 norm "
                       "(discrete_laplace: L1)",
                       [](Group& g, double v) { g.sensitivity = v; })
      ->default_str("1")
      ->type_name("S")
      ->check(between<double>(1e-6, kSensitivityMax));
  add_to_group<double>(app, "--sensitivity-l1", command,
                       "of skellam: likewise, as L1 norm (default: the square of the L2 norm)",
                       [](Group& g, double v) { g.l1_sensitivity = v; })
      ->type_name("S")
      ->check(between<double>(1e-6, kSensitivityMax));
  app->add_flag_callback(
         "--scalar", [&command] { command.groups.back().is_scalar = true; },
         "of discrete_gaussian: one number is released, not a vector; then PLD has a bound, too")
      ->trigger_on_parse();
  add_to_group<uint64_t>(app, "--separation", command,
                         "of tree: steps from one part of a person to the next at least (rounds.separation_min)",
                         [](Group& g, uint64_t v) { g.separation = v; })
      ->type_name("B")
      ->check(between<uint64_t>(1, kTreeStepsMax));
  app->add_flag_callback(
         "--periodic", [&command] { command.groups.back().is_periodic = true; },
         "of tree: persons are dealt into B groups once for all, and a group takes part every B steps")
      ->trigger_on_parse();
  app->add_flag_callback(
         "--then", [&command] { command.groups.emplace_back(); },
         "another group of releases follows, whose options begin at their defaults")
      ->trigger_on_parse();
}

void add_budget(CLI::App& privacy, Invocation& invocation) {
  AdminCommand& admin = invocation.admin;
  CLI::App* app =
      add_server_command(privacy, "budget", "what all the jobs of a population together may spend, and have spent",
                         "  coterie privacy budget\n  coterie privacy budget phones --epsilon 8 --delta 1e-6\n"
                         "  coterie privacy budget phones --unlimited\n\n"
                         "Without --epsilon or --unlimited it shows. Where one more release would pass\n"
                         "the budget no job is created and no round opened; jobs without noise are\n"
                         "refused where there is a budget. To set one takes a privacy_officer.");
  const auto budget = std::make_shared<BudgetCommand>();
  app->add_option("POPULATION", budget->population, "the group of devices; to show: all, without it");
  app->add_option("--epsilon", budget->epsilon, "of all releases of all jobs together")
      ->type_name("E")
      ->check(between<double>(kEpsilonMin, kEpsilonMax));
  app->add_option("--delta", budget->delta, "probability that epsilon does not hold; far below 1 / persons")
      ->type_name("D")
      ->check(between<double>(kDeltaMin, kDeltaMax));
  app->add_flag("--unlimited", budget->is_unlimited, "no budget any more");
  add_output_option(*app, admin);
  app->callback([&invocation, &admin, budget] {
    invocation.run = [&admin, budget] { return show_or_set_budget(admin, *budget); };
  });
}

void add_verify(CLI::App& privacy, Invocation& invocation) {
  AdminCommand& admin = invocation.admin;
  CLI::App* app = add_server_command(privacy, "verify",
                                     "whether the privacy ledger is whole, and goes on from what was noted of it",
                                     "  coterie privacy verify --save ledger.json\n"
                                     "  coterie privacy verify --ledger ledger.json --heads ledger.heads.of-monday\n"
                                     "                        without a server\n\n"
                                     "Every record is digested again. ledger.heads lies in a server's data\n"
                                     "directory, signed: keep copies of it elsewhere. It takes a privacy_officer's\n"
                                     "token that is of all tenants.");
  const auto verify = std::make_shared<VerifyCommand>();
  app->add_option("--ledger", verify->ledger, "a ledger that was saved, instead of the server's")->type_name("FILE");
  app->add_option("--heads", verify->heads, "a ledger.heads that the ledger must go on from")->type_name("FILE");
  app->add_option("--server-key", verify->server_key, "the Ed25519 key that must have signed it")->type_name("HEX");
  app->add_option("--save", verify->save, "where to save the server's ledger")->type_name("FILE");
  app->callback(
      [&invocation, &admin, verify] { invocation.run = [&admin, verify] { return verify_privacy(admin, *verify); }; });
}

}  // namespace

void add_privacy(CLI::App& app, Invocation& invocation) {
  CLI::App* privacy = add_group(app, "privacy", "differential privacy: what it costs",
                                "  coterie privacy account --noise-multiplier 1 --steps 100 --delta 1e-6\n"
                                "  coterie --data-dir ./data privacy show jk2x9q4c\n");
  CLI::App* account = add_command(*privacy, "account", "epsilon of noisy releases, or the noise for an epsilon",
                                  "  coterie privacy account --noise-multiplier 1 --steps 100 --delta 1e-6\n"
                                  "  coterie privacy account --sampling poisson:0.01 --noise-multiplier 1.1 \\\n"
                                  "                          --steps 10000 --delta 1e-5\n"
                                  "  coterie privacy account --sampling poisson:0.01 --steps 10000 \\\n"
                                  "                          --delta 1e-5 --target-epsilon 2\n"
                                  "  coterie privacy account --noise-multiplier 5 --steps 200 \\\n"
                                  "                          --then --mechanism laplace --noise-multiplier 20 \\\n"
                                  "                          --steps 10 --delta 1e-6 --json\n"
                                  "  coterie privacy account --mechanism tree --separation 400 \\\n"
                                  "                          --noise-multiplier 7 --steps 2000 --delta 1e-10\n\n"
                                  "RDP and PLD are upper bounds, exact is what it says; the least counts.\n"
                                  "What the figures rest on stands below them: read it, they are worth nothing\n"
                                  "if it is not so.");
  const auto command = std::make_shared<PrivacyCommand>();
  add_group_options(account, *command);
  account->add_option("--delta", command->delta, "probability that epsilon does not hold; far below 1 / persons")
      ->required()
      ->type_name("D")
      ->check(between<double>(kDeltaMin, kDeltaMax));
  account
      ->add_option("--target-epsilon", command->target_epsilon,
                   "find the least noise multiplier for this, of each group that names none")
      ->type_name("E")
      ->check(between<double>(kEpsilonMin, kEpsilonMax));
  account->add_flag("--json", command->as_json, "print JSON");
  AdminCommand& admin = invocation.admin;
  CLI::App* show = add_server_command(*privacy, "show", "what a job with noise has spent, and what that rests on",
                                      "  coterie privacy show jk2x9q4c\n  coterie privacy show jk2x9q4c -o json\n");
  const auto job = std::make_shared<std::string>();
  show->add_option("JOB", *job, "id of the job (`coterie job list`)")->required();
  add_output_option(*show, admin);
  add_budget(*privacy, invocation);
  add_verify(*privacy, invocation);
  show->callback([&invocation, &admin, job] { invocation.run = [&admin, job] { return show_privacy(admin, *job); }; });
  account->callback([&invocation, command] { invocation.run = [command] { return account_privacy(*command); }; });
}

}  // namespace coterie
