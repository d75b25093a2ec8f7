// coterie authority ...: who vouches for devices, so that a server cannot invent them. It talks to no server.
#pragma once

#include <string>

#include "proto/messages/checkin.h"
#include "tools/cli/exit_code.h"

namespace coterie {

// Makes an Ed25519 key in `file`, mode 0600, and prints the public key. A file that is there is an error: it may be a
// key.
ExitCode new_authority(const std::string& file);

struct CertifyCommand {
  std::string key_file;                            // the authority's
  std::string device_key;                          // hexadecimal
  KeyAlgorithm algorithm = KeyAlgorithm::ed25519;  // of the device's key
};
// Prints the certificate, in hexadecimal.
ExitCode certify_device(const CertifyCommand& command);

// Prints the key of a device's state directory, which is made if there is none.
ExitCode print_device_identity(const std::string& state_dir, KeyAlgorithm algorithm_of_new);

}  // namespace coterie
