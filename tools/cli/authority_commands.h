// coterie authority ...: who vouches for devices, so that a server cannot invent them. It talks to no server.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "proto/messages/checkin.h"
#include "tools/cli/exit_code.h"

namespace coterie {

class Signer;

// The authority's key; an error says how one is made.
Result<std::unique_ptr<Signer>> load_authority(const std::string& file);
// Random, so that an authority needs no memory of those it gave: two alike come once in 2^32 devices.
uint64_t fresh_serial();

// Makes an Ed25519 key in `file`, mode 0600, and prints the public key. A file that is there is an error: it may be a
// key.
ExitCode new_authority(const std::string& file);

inline constexpr uint32_t kCertificateDays = 30;

struct CertifyCommand {
  std::string key_file;                            // the authority's
  std::string device_key;                          // hexadecimal
  KeyAlgorithm algorithm = KeyAlgorithm::ed25519;  // of the device's key
  std::string population;
  uint32_t days = kCertificateDays;
  bool has_lists = false;  // whether its devices ask for lists of revoked certificates
};
// Prints the certificate, in hexadecimal.
ExitCode certify_device(const CertifyCommand& command);

struct ShowCertificateCommand {
  std::string certificate, authority_key, device_key;  // hexadecimal
  KeyAlgorithm algorithm = KeyAlgorithm::ed25519;
};
// Prints what a certificate says; an error if it is not this authority's for this key.
ExitCode show_certificate(const ShowCertificateCommand& command);

// Prints the key of a device's state directory, which is made if there is none.
ExitCode print_device_identity(const std::string& state_dir, KeyAlgorithm algorithm_of_new);

}  // namespace coterie
