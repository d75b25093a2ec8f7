#include "fl_server/app/ledger_anchor.h"

#include <optional>
#include <string>

#include "base/log.h"
#include "base/os/clock.h"
#include "base/os/file.h"
#include "fl_server/store/sql_training_store.h"

namespace coterie {
namespace {

Status write_heads(const std::string& path, LedgerHeads heads, const Signer& signer) {
  heads.time = os::wall_now();
  COT_ASSIGN(const std::string text, signed_text(heads, signer));
  return os::write_file_atomically(path, as_bytes(text));
}

// Any key may have signed it: the key may have been replaced, and lies beside the file.
Result<std::optional<LedgerHeads>> read_heads(const std::string& path) {
  const Result<Bytes> file = os::read_file(path, kSignedHeadsBytesMax);
  if (!file && file.error().code() == ErrorCode::not_found) return std::optional<LedgerHeads>();
  if (!file) return file.error();
  COT_ASSIGN(SignedHeads read, read_signed_heads(as_text(*file)));
  return std::optional(std::move(read.heads));
}

}  // namespace

Status keep_ledger_anchor(SqlTrainingStore& store, const DataDirectory& data, const Signer& signer) {
  const std::string path = data.path(kLedgerHeadsFile);
  const Result<std::optional<LedgerHeads>> before = read_heads(path);
  if (!before) return before.error().with_context(path);
  const Status kept = store.keep_heads(*before, [path, &signer](const LedgerHeads& heads) {
    if (const Status written = write_heads(path, heads, signer); !written) {
      log(LogLevel::error, "ledger_heads_not_written", {{"reason", written.error().message()}});
    }
  });
  if (kept) return {};
  return Error(kept.error().code(),
               path + ": the database does not have the privacy ledger that was here: " + kept.error().message() +
                   ". If an older copy was restored, docs/operating/backup_and_restore.md says what to do");
}

}  // namespace coterie
