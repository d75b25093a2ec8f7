// coterie authority challenge, answer and revoke: what an authority says to devices that ask, and to all others of one
// that it has given up. It talks to no server.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/cli/exit_code.h"

namespace coterie {

// Prints a fresh nonce in hexadecimal, for an attestation that is answered within ten minutes.
ExitCode print_authority_nonce(const std::string& key_file);

struct AnswerCommand {
  std::string key_file;      // the authority's
  std::string request_file;  // a device's, in binary
  std::string list_file;     // of revoked certificates; empty: none
  uint32_t days = 0;
  bool has_lists = false;
  // The judge's of android-key attestations, which is there if the first is not empty.
  std::string android_roots_file;
  std::string android_revoked_file;  // lines of serials, in hexadecimal
  std::vector<std::string> android_packages;
  std::vector<std::string> android_signers;  // SHA-256, in hexadecimal
};
// Prints the certificate in hexadecimal, or says why there is none.
ExitCode answer_request(const AnswerCommand& command);

struct RevokeCommand {
  std::string key_file;
  std::string list_file;            // read if it is there, and written
  std::vector<uint64_t> serials;    // of certificates that are revoked from now on
  std::vector<uint64_t> forgotten;  // of revoked ones that have ended
  uint32_t days = 0;                // until the next list
};
// Writes the list with the next number, and prints what it has.
ExitCode revoke_certificates(const RevokeCommand& command);

}  // namespace coterie
