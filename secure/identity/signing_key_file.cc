#include "secure/identity/signing_key_file.h"

#include <algorithm>

#include "base/os/file.h"
#include "secure/identity/key_file.h"

namespace coterie {
namespace {

constexpr uint64_t kKeyFileBytesMax = 4'096;

std::string in(const std::string& keys_dir, const char* name) { return keys_dir + "/" + name; }

// The key that was left by a process which died before it could say so.
Result<std::unique_ptr<Signer>> load_or_create_next(const std::string& path) {
  return os::exists(path) ? load_signer(path) : create_signer(path, KeyAlgorithm::ed25519);
}

// Whether the last statement is of the present key's successor.
bool is_announced(const std::vector<KeyStatement>& statements, const Signer& present) {
  return !statements.empty() && statements.back().before == present.public_key() && !ends_keys(statements.back());
}

// The oldest goes where there are too many.
Status append(const std::string& keys_dir, std::vector<KeyStatement> statements, const KeyStatement& statement) {
  statements.push_back(statement);
  if (statements.size() > kKeyStatementsMax) statements.erase(statements.begin());
  return os::write_file_atomically(in(keys_dir, kKeyStatementsFile), as_bytes(key_statements_text(statements) + "\n"));
}

}  // namespace

Result<std::vector<KeyStatement>> load_key_statements(const std::string& keys_dir) {
  const std::string path = in(keys_dir, kKeyStatementsFile);
  const Result<Bytes> file = os::read_file(path, kKeyStatementsCharsMax + 1);
  if (!file && file.error().code() == ErrorCode::not_found) return std::vector<KeyStatement>();
  if (!file) return file.error();
  std::string_view text = as_text(*file);
  if (text.ends_with('\n')) text.remove_suffix(1);
  Result<std::vector<KeyStatement>> statements = parse_key_statements(text);
  if (!statements) return statements.error().with_context(path);
  if (std::ranges::all_of(*statements, key_statement_is_valid)) return statements;
  return Error(ErrorCode::invalid_argument, path + ": a statement is not signed by the key that it is of");
}

Result<KeyStatement> announce_next_key(const std::string& keys_dir, WallTime before_until) {
  COT_ASSIGN(const std::unique_ptr<Signer> present, load_signer(in(keys_dir, kSigningKeyFile)));
  COT_ASSIGN(std::vector<KeyStatement> statements, load_key_statements(keys_dir));
  if (is_announced(statements, *present)) {
    return Error(ErrorCode::conflict,
                 "key " + to_hex(statements.back().after) +
                     " is announced already; `coterie signing-key switch` has servers sign with it");
  }
  // The key's file before the statement that names it: a statement of a key that nobody has would lead devices nowhere.
  COT_ASSIGN(const std::unique_ptr<Signer> next, load_or_create_next(in(keys_dir, kNextSigningKeyFile)));
  COT_ASSIGN(KeyStatement statement, state_next_key(*present, next->public_key(), before_until));
  COT_TRY(append(keys_dir, std::move(statements), statement));
  return statement;
}

Result<KeyStatement> switch_to_next_key(const std::string& keys_dir) {
  const std::string path = in(keys_dir, kSigningKeyFile), next_path = in(keys_dir, kNextSigningKeyFile);
  COT_ASSIGN(const std::unique_ptr<Signer> present, load_signer(path));
  COT_ASSIGN(const std::vector<KeyStatement> statements, load_key_statements(keys_dir));
  if (!is_announced(statements, *present)) {
    return Error(ErrorCode::conflict, "no successor of key " + to_hex(present->public_key()) +
                                          " is announced; `coterie signing-key next` does so");
  }
  COT_ASSIGN(const std::unique_ptr<Signer> next, load_signer(next_path));
  if (next->public_key() != statements.back().after) {
    return Error(ErrorCode::conflict, next_path + " is not key " + to_hex(statements.back().after) +
                                          ", which was announced; restore it from a backup");
  }
  COT_ASSIGN(Bytes bytes, os::read_file(path, kKeyFileBytesMax));
  // The old key is kept before the new one takes its name: a crash in between leaves both, and the switch can be asked
  // for again.
  const Status kept = os::write_file_atomically(in(keys_dir, kOldSigningKeyFile), bytes);
  wipe(bytes);
  COT_TRY(kept);
  COT_TRY(os::rename_file(next_path, path));  // there is a key under this name at every moment: a server makes none
  COT_TRY(os::sync_directory(keys_dir));
  return statements.back();
}

Result<KeyStatement> end_old_keys(const std::string& keys_dir, WallTime now) {
  COT_ASSIGN(const std::unique_ptr<Signer> present, load_signer(in(keys_dir, kSigningKeyFile)));
  COT_ASSIGN(std::vector<KeyStatement> statements, load_key_statements(keys_dir));
  if (is_announced(statements, *present)) {
    return Error(ErrorCode::conflict, "servers still sign with " + to_hex(present->public_key()) + ", and key " +
                                          to_hex(statements.back().after) +
                                          " is announced: first `coterie signing-key switch`, and start servers anew");
  }
  if (keys_to_pin(present->public_key(), statements).retiring.empty()) {
    return Error(ErrorCode::conflict, "no key before " + to_hex(present->public_key()) + " is believed any more");
  }
  COT_ASSIGN(KeyStatement statement, end_keys_before(*present, now));
  COT_TRY(append(keys_dir, std::move(statements), statement));
  return statement;
}

}  // namespace coterie
