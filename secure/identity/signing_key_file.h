// A server's signing key on disk, and how it is replaced (signing_keys.h). In a directory of keys:
//
//   signing.key        what is signed with now
//   signing-next.key   its successor, from announce to switch
//   signing-old.key    what was signed with before the last switch; nobody reads it
//   signing-keys.txt   what the keys so far have said of their successors: devices are told so
//
// Each step leaves a directory that a server can start on, wherever the process dies, and may be taken again. One
// process at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "secure/crypto/signature.h"
#include "secure/identity/signing_keys.h"

namespace coterie {

inline constexpr char kSigningKeyFile[] = "signing.key";
inline constexpr char kNextSigningKeyFile[] = "signing-next.key";
inline constexpr char kOldSigningKeyFile[] = "signing-old.key";
inline constexpr char kKeyStatementsFile[] = "signing-keys.txt";

// None if there is no file. malformed, invalid_argument (one is not signed by the key that it is of).
Result<std::vector<KeyStatement>> load_key_statements(const std::string& keys_dir);

// Makes a successor, and a statement of the present key that names it. The statement is the last then; of more than
// kKeyStatementsMax the oldest goes. not_found (no signing.key), conflict (one is announced already).
Result<KeyStatement> announce_next_key(const std::string& keys_dir, WallTime before_until);

// From the next start on servers sign with the key that was announced. conflict: none is.
Result<KeyStatement> switch_to_next_key(const std::string& keys_dir);

// Devices that hear it believe no key before the present one any more. conflict: there is none, or a successor of the
// present key is announced.
Result<KeyStatement> end_old_keys(const std::string& keys_dir, WallTime now);

}  // namespace coterie
