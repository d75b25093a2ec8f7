#include "secure/identity/signing_keys.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace coterie {
namespace {

constexpr int64_t kUntilMsMax = 253'402'300'799'999;  // the end of the year 9999
constexpr size_t kSignatureBytes = 64;

std::string text_of(const KeyStatement& statement) {
  if (ends_keys(statement)) {
    return "coterie-end-keys-1\n" + to_hex(statement.before) + "\n" + std::to_string(unix_ms(statement.before_until));
  }
  return "coterie-next-key-1\n" + to_hex(statement.before) + "\n" + to_hex(statement.after) + "\n" +
         std::to_string(unix_ms(statement.before_until));
}

Error malformed(const std::string& what) { return {ErrorCode::malformed, "key statement: " + what}; }

Result<Bytes> parse_key(std::string_view text, const char* which) {
  Result<Bytes> key = from_base64url(text);
  if (key && public_key_is_valid(KeyAlgorithm::ed25519, *key)) return key;
  return malformed("the key " + std::string(which) + " must be an Ed25519 public key in base64url");
}

Result<WallTime> parse_until(std::string_view text) {
  int64_t ms = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ms);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || ms < 0 || ms > kUntilMsMax)
    return malformed("the moment must be in [0, 253402300799999]");
  return wall_time_from_unix_ms(ms);
}

// What stands before the next `separator`, which is taken away with it; all if there is none.
std::string_view take_field(std::string_view& text, char separator) {
  const size_t end = std::min(text.find(separator), text.size());
  const std::string_view field = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return field;
}

Result<KeyStatement> parse_statement(std::string_view text) {
  if (std::ranges::count(text, '.') != 3) return malformed("must have four fields, apart by '.'");
  KeyStatement statement;
  COT_ASSIGN(statement.before, parse_key(take_field(text, '.'), "before"));
  COT_ASSIGN(statement.after, parse_key(take_field(text, '.'), "after"));
  COT_ASSIGN(statement.before_until, parse_until(take_field(text, '.')));
  Result<Bytes> signature = from_base64url(text);
  if (!signature || signature->size() != kSignatureBytes) return malformed("the signature must have 64 bytes");
  statement.signature = std::move(*signature);
  return statement;
}

bool is_retiring(const PinnedKeys& keys, const Bytes& key) {
  return std::ranges::count(keys.retiring, key, &RetiringKey::key) > 0;
}

}  // namespace

Result<KeyStatement> state_next_key(const Signer& before, ByteView after, WallTime before_until) {
  KeyStatement statement{before.public_key(), Bytes(after.begin(), after.end()), before_until, {}};
  COT_ASSIGN(statement.signature, before.sign(as_bytes(text_of(statement))));
  return statement;
}

Result<KeyStatement> end_keys_before(const Signer& signer, WallTime now) {
  return state_next_key(signer, signer.public_key(), now);
}

bool ends_keys(const KeyStatement& statement) { return statement.before == statement.after; }

bool key_statement_is_valid(const KeyStatement& statement) {
  return public_key_is_valid(KeyAlgorithm::ed25519, statement.after) &&
         signature_is_valid(KeyAlgorithm::ed25519, statement.before, as_bytes(text_of(statement)), statement.signature);
}

std::string key_statements_text(const std::vector<KeyStatement>& statements) {
  std::string text;
  for (const KeyStatement& statement : statements) {
    if (!text.empty()) text += ',';
    text += to_base64url(statement.before) + "." + to_base64url(statement.after) + "." +
            std::to_string(unix_ms(statement.before_until)) + "." + to_base64url(statement.signature);
  }
  return text;
}

Result<std::vector<KeyStatement>> parse_key_statements(std::string_view text) {
  std::vector<KeyStatement> statements;
  if (text.size() > kKeyStatementsCharsMax) return malformed("must have at most 2048 characters");
  while (!text.empty()) {
    if (statements.size() == kKeyStatementsMax) return malformed("there may be 8 at most");
    COT_ASSIGN(KeyStatement statement, parse_statement(take_field(text, ',')));
    statements.push_back(std::move(statement));
  }
  return statements;
}

bool follow_key_statements(PinnedKeys& keys, const std::vector<KeyStatement>& statements) {
  bool has_new = false;
  for (const KeyStatement& statement : statements) {
    // Only from the newest key on: whoever has got hold of an old key cannot lead a device to a key of their own.
    if (keys.newest.empty() || statement.before != keys.newest) continue;
    // Known ones are told first: the same statements come again and again, and a signature is what costs.
    const bool is_known = ends_keys(statement) ? keys.retiring.empty() : is_retiring(keys, statement.after);
    if (is_known || !key_statement_is_valid(statement)) continue;
    has_new = true;
    if (ends_keys(statement)) {
      keys.retiring.clear();
      continue;
    }
    if (keys.retiring.size() == kRetiringKeysMax) keys.retiring.erase(keys.retiring.begin());
    keys.retiring.push_back({std::exchange(keys.newest, statement.after), statement.before_until});
  }
  return has_new;
}

PinnedKeys keys_to_pin(ByteView signing_key, const std::vector<KeyStatement>& statements) {
  PinnedKeys keys;
  if (!statements.empty()) keys.newest = statements.front().before;
  for (const KeyStatement& statement : statements) {
    // The next key signs nothing yet; a device hears of it with its first assignment.
    if (std::ranges::equal(keys.newest, signing_key) && !ends_keys(statement)) break;
    follow_key_statements(keys, {statement});
  }
  if (!std::ranges::equal(keys.newest, signing_key)) return {Bytes(signing_key.begin(), signing_key.end())};
  return keys;
}

std::vector<ByteView> believed_keys(const PinnedKeys& keys, WallTime now) {
  std::vector<ByteView> believed;
  if (!keys.newest.empty()) believed.emplace_back(keys.newest);
  for (auto key = keys.retiring.rbegin(); key != keys.retiring.rend(); ++key) {
    if (now <= key->until) believed.emplace_back(key->key);
  }
  return believed;
}

}  // namespace coterie
