// coterie signing-key ...: the key that a server signs assignments with gets a successor. Works on the server's
// directory of keys, and talks to no server.
#pragma once

#include <cstdint>
#include <string>

#include "tools/cli/exit_code.h"

namespace coterie {

struct SigningKeyCommand {
  std::string keys_dir;
  uint32_t days = 90;  // that devices still believe the key of now
};

ExitCode announce_signing_key(const SigningKeyCommand& command);
ExitCode switch_signing_key(const SigningKeyCommand& command);
ExitCode revoke_signing_keys(const SigningKeyCommand& command);
ExitCode show_signing_keys(const SigningKeyCommand& command);

}  // namespace coterie
