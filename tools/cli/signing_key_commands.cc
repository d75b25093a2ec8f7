#include "tools/cli/signing_key_commands.h"

#include <nlohmann/json.hpp>

#include "base/os/clock.h"
#include "fl_server/json/rfc3339.h"
#include "secure/identity/key_file.h"
#include "secure/identity/signing_key_file.h"
#include "tools/cli/local_files.h"
#include "tools/cli/report.h"

namespace coterie {
namespace {

std::string line_of(const KeyStatement& statement) {
  if (ends_keys(statement))
    return "all before " + to_hex(statement.before) + ": over since " + rfc3339(statement.before_until) + "\n";
  return to_hex(statement.before) + " -> " + to_hex(statement.after) + ", the first until " +
         rfc3339(statement.before_until) + "\n";
}

}  // namespace

ExitCode announce_signing_key(const SigningKeyCommand& command) {
  const WallTime until = os::wall_now() + std::chrono::hours(24) * command.days;
  const Result<KeyStatement> statement = announce_next_key(command.keys_dir, until);
  if (!statement) return fail_on_input("signing-key next", statement.error());
  print_text(line_of(*statement) +
             "Servers tell devices within 10 seconds. When all servers of the fleet have said\n"
             "files_rotated, go on with `coterie signing-key switch`.\n");
  return ExitCode::ok;
}

ExitCode switch_signing_key(const SigningKeyCommand& command) {
  const Result<KeyStatement> statement = switch_to_next_key(command.keys_dir);
  if (!statement) return fail_on_input("signing-key switch", statement.error());
  print_text("from the next start on servers sign with " + to_hex(statement->after) + "\n");
  return ExitCode::ok;
}

ExitCode revoke_signing_keys(const SigningKeyCommand& command) {
  const Result<KeyStatement> statement = end_old_keys(command.keys_dir, os::wall_now());
  if (!statement) return fail_on_input("signing-key revoke", statement.error());
  print_text(line_of(*statement) +
             "Servers tell devices within 10 seconds; a device hears it with its next assignment.\n");
  return ExitCode::ok;
}

ExitCode show_signing_keys(const SigningKeyCommand& command) {
  const auto signer = load_signer(command.keys_dir + "/" + kSigningKeyFile);
  if (!signer) return fail_on_input("signing-key show", signer.error());
  const auto statements = load_key_statements(command.keys_dir);
  if (!statements) return fail_on_input("signing-key show", statements.error());
  std::string text = "signs with " + to_hex((*signer)->public_key()) + "\n";
  for (const KeyStatement& statement : *statements) text += line_of(statement);
  print_text(text);
  return ExitCode::ok;
}

}  // namespace coterie
