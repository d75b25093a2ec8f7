// admin-token: its grammar.
#include <memory>

#include "tools/cli/access_commands.h"
#include "tools/cli/arguments.h"
#include "tools/cli/help.h"

namespace coterie {

void add_admin_token(CLI::App& app, Invocation& invocation) {
  AdminCommand& admin = invocation.admin;
  CLI::App* token =
      add_group(app, "admin-token", "tokens of people and programs that look after the server, with roles",
                "  coterie admin-token create --label grafana --role viewer > grafana.token\n"
                "  coterie admin-token list\n");

  CLI::App* create = add_server_command(
      *token, "create", "a new token; it is shown this once",
      "  coterie admin-token create --label grafana --role viewer > grafana.token\n"
      "  coterie admin-token create --label anna --role operator --role security_admin --valid-days 30\n");
  const auto options = std::make_shared<NewAdminTokenOptions>();
  create->add_option("--label", options->label, "whose token it is")->required();
  create->add_option("--role", options->roles, "what it may; again for more")
      ->required()
      ->type_name("ROLE")
      ->allow_extra_args(false)
      ->check(one_of({"viewer", "operator", "ml_engineer", "privacy_officer", "security_admin"}));
  create->add_option("--valid-days", options->valid_days, "until it expires")
      ->capture_default_str()
      ->check(between<uint32_t>(1, 366));
  add_output_option(*create, admin);
  create->callback(
      [&, options] { invocation.run = [&admin, options] { return create_admin_token(admin, *options); }; });

  CLI::App* list = add_server_command(*token, "list", "all named tokens, expired ones, too",
                                      "  coterie admin-token list\n");
  add_output_option(*list, admin);
  list->callback([&] { invocation.run = [&admin] { return list_admin_tokens(admin); }; });

  CLI::App* remove = add_server_command(*token, "remove", "end a token at once",
                                        "  coterie admin-token remove 5fd3c0ab91e27746\n");
  const auto id = std::make_shared<std::string>();
  remove->add_option("TOKEN", *id, "id of the token (`coterie admin-token list`)")->required();
  remove->callback([&, id] { invocation.run = [&admin, id] { return remove_admin_token(admin, *id); }; });
}

}  // namespace coterie
