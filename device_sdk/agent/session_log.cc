#include "device_sdk/agent/session_log.h"

#include <algorithm>
#include <span>

#include "proto/codec/limits.h"
#include "secure/crypto/digest.h"
#include "secure/crypto/random.h"

namespace coterie {
namespace {

constexpr std::string_view kPrefix = "secagg";  // of all names, also of earlier versions
constexpr size_t kDigestBytes = sizeof(Digest::bytes);
constexpr size_t kSeedBytes = 32;
constexpr size_t kHeadBytes = 1 + 4;  // of a record: kind, length
// Each message of the server once, with room for the small records between them.
constexpr uint64_t kLogBytesMax =
    limits::kRosterHeaderBytesMax + 4 * uint64_t{limits::kSharesHeaderBytesMax} + (64 << 10);

Error damaged(const std::string& path) {
  return Error(ErrorCode::data_loss, path + " is damaged: the session that it tells of cannot go on");
}

Digest digest_in(ByteView bytes) {
  Digest digest;
  std::ranges::copy(bytes.first(kDigestBytes), digest.bytes.begin());
  return digest;
}

}  // namespace

std::string SessionLog::path() const { return directory_ + "/" + std::string(kPrefix) + ".log"; }

Result<std::optional<SessionRecords>> SessionLog::load(const Digest& context, const std::optional<Digest>& update) {
  if (!os::exists(path())) return std::optional<SessionRecords>();
  COT_ASSIGN(Bytes bytes, os::read_file(path(), kLogBytesMax));
  Result<std::optional<SessionRecords>> records = parse(bytes, context, update);
  wipe(bytes);
  if (records && *records) {
    COT_ASSIGN(file_, os::File::open_append(path()));
  }
  return records;
}

Result<std::optional<SessionRecords>> SessionLog::parse(ByteView log, const Digest& context,
                                                        const std::optional<Digest>& update) const {
  std::optional<SessionRecords> records;
  while (!log.empty()) {
    if (log.size() < kHeadBytes + kDigestBytes) return damaged(path());
    size_t length = 0;
    for (size_t i = 0; i < 4; ++i) length |= size_t{log[1 + i]} << (8 * i);
    if (length > log.size() - kHeadBytes - kDigestBytes) return damaged(path());
    const ByteView record = log.first(kHeadBytes + length);
    // A record that is cut short or altered: which answers have left the device cannot be known any more, and none may
    // be given again in other words.
    if (content_digest(record) != digest_in(log.subspan(record.size()))) return damaged(path());
    const auto kind = static_cast<Kind>(log[0]);
    const ByteView held = log.subspan(kHeadBytes, length);
    log = log.subspan(kHeadBytes + length + kDigestBytes);

    const bool is_first = (kind == Kind::seed && length == 2 * kDigestBytes + kSeedBytes) ||
                          (kind == Kind::sealed_seed && length > 2 * kDigestBytes);
    if (is_first && !records) {
      // A log of another round, or of another update of this one: a new session begins, with a new seed. Masks of one
      // seed over two updates would show their difference.
      if (digest_in(held) != context || (update && digest_in(held.subspan(kDigestBytes)) != *update)) {
        return std::optional<SessionRecords>();
      }
      records.emplace();
      if (kind == Kind::seed) {
        records->seed = Secret<32>(std::span<const uint8_t, kSeedBytes>(held.last<kSeedBytes>()));
      } else if (!vault_.open(held.first(2 * kDigestBytes), held.subspan(2 * kDigestBytes),
                              records->seed.mutable_bytes())) {
        return damaged(path());
      }
    } else if (kind == Kind::message && records && length >= 1 &&
               records->messages.emplace(held[0], Bytes(held.begin() + 1, held.end())).second) {
      continue;
    } else if (kind == Kind::signature && records && length >= kDigestBytes) {
      records->signatures[digest_in(held)] = Bytes(held.begin() + kDigestBytes, held.end());
    } else {
      return damaged(path());
    }
  }
  return records;
}

Result<SessionRecords> SessionLog::begin(const Digest& context, const Digest& update) {
  // Nothing of an older log may stay, under whatever name a version before gave it: its seed must not come back.
  COT_TRY(remove());
  COT_ASSIGN(file_, os::File::create(path()));
  is_fresh_ = true;
  SessionRecords records;
  fill_random(records.seed.mutable_bytes());
  Bytes of(context.view().begin(), context.view().end());
  of.insert(of.end(), update.view().begin(), update.view().end());
  COT_ASSIGN(const Bytes sealed, vault_.seal(of, records.seed.reveal()));
  COT_TRY(append(Kind::sealed_seed, of, sealed));
  return records;
}

Status SessionLog::append(Kind kind, ByteView a, ByteView b, ByteView c) {
  const size_t length = a.size() + b.size() + c.size();
  Bytes record;
  record.reserve(kHeadBytes + length + kDigestBytes);  // so that no copy of the seed is left behind
  record.push_back(static_cast<uint8_t>(kind));
  for (size_t i = 0; i < 4; ++i) record.push_back(static_cast<uint8_t>(length >> (8 * i)));
  for (const ByteView part : {a, b, c}) record.insert(record.end(), part.begin(), part.end());
  const Digest digest = content_digest(record);
  record.insert(record.end(), digest.bytes.begin(), digest.bytes.end());
  const Status written = file_.write_all(record);
  wipe(record);
  return written;
}

Status SessionLog::append_message(uint8_t number, ByteView frame) {
  return append(Kind::message, std::span(&number, 1), frame);
}

Status SessionLog::append_signature(const Digest& text, ByteView signature) {
  return append(Kind::signature, text.view(), signature);
}

Status SessionLog::sync() {
  COT_TRY(file_.sync());
  if (!is_fresh_) return {};
  // A new file's name is durable only with its directory. Once is enough: the name stays.
  COT_TRY(os::sync_directory(directory_));
  is_fresh_ = false;
  return {};
}

Status SessionLog::remove() const {
  COT_ASSIGN(const std::vector<std::string> names, os::list_directory(directory_));
  bool was_there = false;
  for (const std::string& name : names) {
    if (!name.starts_with(kPrefix)) continue;
    COT_TRY(os::remove_file(directory_ + "/" + name));
    was_there = true;
  }
  return was_there ? os::sync_directory(directory_) : Status();
}

Result<Bytes> RecordedSigner::sign(ByteView message) const {
  const Digest text = content_digest(message);
  // ECDSA signs the same text with other bytes each time. A session that is resumed must say the very bytes that it
  // said.
  if (const auto known = recorded_.find(text); known != recorded_.end()) return known->second;
  Result<Bytes> signature = signer_.sign(message);
  Status recorded;
  if (signature) recorded = log_.append_signature(text, *signature);
  failure_.reset();
  if (!signature) failure_ = signature.error();
  else if (!recorded) failure_ = recorded.error();
  if (failure_) return *failure_;
  recorded_.emplace(text, *signature);
  return signature;
}

}  // namespace coterie
