// admin-token and audit: their grammar.
#include <memory>

#include "tools/cli/access_commands.h"
#include "tools/cli/arguments.h"
#include "tools/cli/audit_commands.h"
#include "tools/cli/help.h"

namespace coterie {

void add_admin_token(CLI::App& app, Invocation& invocation) {
  AdminCommand& admin = invocation.admin;
  CLI::App* token =
      add_group(app, "admin-token", "tokens of people and programs that look after the server, with roles",
                "  coterie admin-token create --label grafana --role viewer > grafana.token\n"
                "  coterie admin-token list\n");

  CLI::App* create = add_server_command(*token, "create", "a new token; it is shown this once",
                                        "  coterie admin-token create --label grafana --role viewer > grafana.token\n"
                                        "  coterie admin-token create --label anna --role operator \\\n"
                                        "      --role security_admin --valid-days 30\n");
  const auto options = std::make_shared<NewAdminTokenOptions>();
  create->add_option("--label", options->label, "whose token it is")->required();
  create->add_option("--role", options->roles, "what it may; again for more")
      ->required()
      ->type_name("ROLE")
      ->allow_extra_args(false)
      ->check(one_of({"viewer", "operator", "ml_engineer", "privacy_officer", "security_admin", "application"}));
  create->add_option("--tenant", options->tenant, "whose jobs, populations and devices it sees; * for all");
  create->add_option("--valid-days", options->valid_days, "until it expires")
      ->capture_default_str()
      ->check(between<uint32_t>(1, 366));
  add_output_option(*create, admin);
  create->callback(
      [&, options] { invocation.run = [&admin, options] { return create_admin_token(admin, *options); }; });

  CLI::App* list =
      add_server_command(*token, "list", "all named tokens, expired ones, too", "  coterie admin-token list\n");
  add_output_option(*list, admin);
  list->callback([&] { invocation.run = [&admin] { return list_admin_tokens(admin); }; });

  CLI::App* remove =
      add_server_command(*token, "remove", "end a token at once", "  coterie admin-token remove 5fd3c0ab91e27746\n");
  const auto id = std::make_shared<std::string>();
  remove->add_option("TOKEN", *id, "id of the token (`coterie admin-token list`)")->required();
  remove->callback([&, id] { invocation.run = [&admin, id] { return remove_admin_token(admin, *id); }; });
}

void add_audit(CLI::App& app, Invocation& invocation) {
  AdminCommand& admin = invocation.admin;
  CLI::App* audit = add_group(app, "audit", "what was done on the admin plane, by whom, and whether the log is whole",
                              "  coterie audit list --action device.revoke\n  coterie audit verify\n");

  CLI::App* list =
      add_server_command(*audit, "list", "records in order",
                         "  coterie audit list --after 200\n  coterie audit list --who 5fd3c0ab91e27746 -o json\n");
  const auto options = std::make_shared<AuditListOptions>();
  list->add_option("--after", options->after, "only records behind this number")->capture_default_str();
  list->add_option("--limit", options->limit, "at most so many")
      ->capture_default_str()
      ->check(between<uint32_t>(1, 1000));
  list->add_option("--who", options->who, "only of this token's id");
  list->add_option("--action", options->action, "only of this action (job.create)");
  list->add_option("--since", options->since, "only from this time on, in UTC (2026-11-21T06:30:00Z)")
      ->type_name("TIME");
  list->add_option("--until", options->until, "only from before this time")->type_name("TIME");
  add_output_option(*list, admin);
  list->callback([&, options] { invocation.run = [&admin, options] { return list_audit(admin, *options); }; });

  CLI::App* verify = add_server_command(*audit, "verify", "check every record, here; prints the head to note",
                                        "  coterie audit verify\n"
                                        "  coterie audit verify --head \"$(cat head.txt)\"\n"
                                        "        also that nothing up to a head noted before was rewritten or\n"
                                        "        cut off\n");
  const auto head = std::make_shared<std::string>();
  verify->add_option("--head", *head, "NUMBER:DIGEST as an earlier verify printed it");
  add_output_option(*verify, admin);
  verify->callback([&, head] { invocation.run = [&admin, head] { return verify_audit_log(admin, *head); }; });
}

}  // namespace coterie
