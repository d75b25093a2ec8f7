// How a server's signing key gets a successor: the key itself says so, in a statement that devices hear with their next
// assignment, long before anything is signed by the new key.
//
//   coterie-next-key-1 \n the key before \n the key after \n last moment of the key before (unix ms)
//
// (keys in lower-case hex, the moment decimal, no spaces, no final newline), signed by the key before. A device that
// has that key as its newest pins the one after beside it, believes both until the moment has passed, and then the one
// after alone. So it follows any number of successions that it has slept through, one by one.
//
// A key that names itself ends all keys before it, whatever was said of them: "coterie-end-keys-1" is the first line
// then, and the moment is when it was said. An old key that was stolen ends so.
//
// A key that has a successor names no other one: whoever steals it later leads no device astray that has heard of the
// succession. Whoever steals the newest key can name a successor of their own, as they can sign everything else.
//
// Text form, in an answer's Coterie-Keys header and in the server's file (signing_key_file.h):
// "before.after.until.signature", the bytes in base64url, statements apart by ",". Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "proto/messages/pinned_keys.h"
#include "secure/crypto/signature.h"

namespace coterie {

inline constexpr size_t kKeyStatementsMax = kRetiringKeysMax;
inline constexpr size_t kKeyStatementsCharsMax = 2'048;

// `before` names its successor.
Result<KeyStatement> state_next_key(const Signer& before, ByteView after, WallTime before_until);
// `signer` ends all keys before it.
Result<KeyStatement> end_keys_before(const Signer& signer, WallTime now);
bool ends_keys(const KeyStatement& statement);
bool key_statement_is_valid(const KeyStatement& statement);

std::string key_statements_text(const std::vector<KeyStatement>& statements);
// malformed; no signature is looked at. An empty text has none.
Result<std::vector<KeyStatement>> parse_key_statements(std::string_view text);

// Pins what these say, in their order; true if something has changed. A statement that is not by the newest key, or
// does not verify, changes nothing, and neither does one that names a key from before. The oldest of more than
// kRetiringKeysMax is forgotten.
bool follow_key_statements(PinnedKeys& keys, const std::vector<KeyStatement>& statements);

// What a device pins that enrolls at a server which signs with this key and tells devices this.
PinnedKeys keys_to_pin(ByteView signing_key, const std::vector<KeyStatement>& statements);

// Those that a device believes at this moment of the server's time, the newest first.
std::vector<ByteView> believed_keys(const PinnedKeys& keys, WallTime now);

}  // namespace coterie
