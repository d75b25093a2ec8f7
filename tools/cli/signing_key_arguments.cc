// signing-key: the server's key that devices believe gets a successor.
#include <memory>

#include "tools/cli/arguments.h"
#include "tools/cli/help.h"
#include "tools/cli/signing_key_commands.h"

namespace coterie {

void add_signing_key(CLI::App& app, Invocation& invocation) {
  CLI::App* group = add_group(app, "signing-key", "replace the key that a server signs assignments with",
                              "  coterie signing-key next --keys /var/lib/coterie/keys\n"
                              "  coterie signing-key switch --keys /var/lib/coterie/keys\n\n"
                              "Run it as the server's user, where its keys are. The steps, and what a fleet\n"
                              "does: docs/operating/keys.md.\n");
  const auto command = std::make_shared<SigningKeyCommand>();
  const auto add = [&](const char* name, const char* what, const char* examples,
                       ExitCode (*run)(const SigningKeyCommand&)) {
    CLI::App* added = add_command(*group, name, what, examples);
    added->add_option("--keys", command->keys_dir, "the server's directory of keys")->required()->type_name("DIR");
    added->callback([&invocation, command, run] { invocation.run = [command, run] { return run(*command); }; });
    return added;
  };
  CLI::App* next = add("next", "make the next key; the key of now vouches for it, and devices are told",
                       "  coterie signing-key next --keys /var/lib/coterie/keys --days 90\n\n"
                       "Nothing is signed with it yet. Devices that hear of it believe both keys for so\n"
                       "many days, and then the next one alone.\n",
                       announce_signing_key);
  next->add_option("--days", command->days, "how long devices still believe the key of now")
      ->check(between<uint32_t>(1, 3650))
      ->capture_default_str()
      ->type_name("DAYS");
  add("switch", "sign with the next key from the next start on",
      "  coterie signing-key switch --keys /var/lib/coterie/keys\n"
      "  systemctl restart fl_server\n\n"
      "The key of now stays as signing-old.key; remove it when its days are over.\n",
      switch_signing_key);
  add("revoke", "end the keys before that of now at once, as when one was stolen",
      "  coterie signing-key revoke --keys /var/lib/coterie/keys\n\n"
      "For after `switch`, when every server of the fleet has started anew: devices\n"
      "refuse what servers still sign with a key before.\n",
      revoke_signing_keys);
  add("show", "print the public key of now, and what keys have vouched for",
      "  coterie signing-key show --keys /var/lib/coterie/keys\n", show_signing_keys);
}

}  // namespace coterie
