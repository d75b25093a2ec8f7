#include "tools/vertical/bucket_log.h"

#include <algorithm>
#include <utility>

#include "secure/crypto/sha256.h"
#include "vertical/stage/wire.h"

namespace coterie {
namespace {

using vertical::CommittedUnit;

constexpr uint64_t kBucketBytesMax = uint64_t{5} << 30;  // rows of as many ids as there may be
constexpr size_t kCheckBytes = 8;
constexpr size_t kHeadBytes = 56;  // before the rows

size_t entry_bytes(const KeptBuckets& bucket) { return kHeadBytes + 4 * bucket.matched.rows.size() + kCheckBytes; }

Bytes write_entry(const KeptBuckets& bucket) {
  vertical::WireWriter writer;
  writer.reserve(entry_bytes(bucket));
  writer.u32(bucket.matched.buckets);
  writer.u32(bucket.matched.buckets_all);
  writer.u64(bucket.matched.peer_items);
  writer.digest(bucket.matched.root);
  writer.u32(bucket.heard);
  writer.u32(static_cast<uint32_t>(bucket.matched.rows.size()));
  for (const uint32_t row : bucket.matched.rows) writer.u32(row);
  Bytes entry = writer.take();
  // With the first bytes of its digest: of an entry that was being written when the power went, a part may be there.
  const Digest check = sha256(entry);
  entry.insert(entry.end(), check.bytes.begin(), check.bytes.begin() + kCheckBytes);
  return entry;
}

// The entry that `bytes` begin with; none if it is not whole.
std::optional<KeptBuckets> read_entry(ByteView bytes) {
  vertical::WireReader reader(bytes);
  KeptBuckets bucket;
  bucket.matched.buckets = reader.u32();
  bucket.matched.buckets_all = reader.u32();
  bucket.matched.peer_items = reader.u64();
  bucket.matched.root = reader.digest();
  bucket.heard = reader.u32();
  const uint32_t rows = reader.u32();
  if (!reader.ok() || rows > reader.rest().size() / 4) return std::nullopt;
  bucket.matched.rows.reserve(rows);
  for (uint32_t i = 0; i < rows; ++i) bucket.matched.rows.push_back(reader.u32());
  const Digest check = sha256(bytes.first(bytes.size() - reader.rest().size()));
  const ByteView kept = reader.raw(kCheckBytes);
  if (!reader.ok() || !std::ranges::equal(kept, ByteView(check.view()).first(kCheckBytes))) return std::nullopt;
  return bucket;
}

}  // namespace

Result<BucketLog> BucketLog::open(const std::string& file) {
  BucketLog log(file);
  Bytes bytes;
  const bool is_new = !os::exists(file);
  if (!is_new) {
    COT_ASSIGN(bytes, os::read_file(file, kBucketBytesMax));
  }
  size_t whole = 0;
  while (const std::optional<KeptBuckets> bucket = read_entry(ByteView(bytes).subspan(whole))) {
    if (bucket->matched.buckets != log.roots_.size() + 1) break;
    log.roots_.push_back(bucket->matched.root);
    whole += entry_bytes(*bucket);
  }
  if (whole < bytes.size()) COT_TRY(os::write_file_atomically(file, ByteView(bytes).first(whole)));
  COT_ASSIGN(log.end_, os::File::open_append(file));
  if (is_new) COT_TRY(os::sync_directory(os::parent_directory(file)));
  return log;
}

Status BucketLog::put(const KeptBuckets& bucket) {
  if (file_.empty()) return {};
  const uint32_t number = bucket.matched.buckets;
  COT_ASSERT(number > 0 && number <= roots_.size() + 1);
  if (number <= roots_.size()) {
    if (roots_[number - 1] == bucket.matched.root) return {};
    return Error(ErrorCode::data_loss,
                 file_ + ": bucket " + std::to_string(number) + " of the matching came out otherwise than before");
  }
  COT_TRY(end_.write_all(write_entry(bucket)));
  COT_TRY(end_.sync());
  roots_.push_back(bucket.matched.root);
  return {};
}

std::vector<CommittedUnit> BucketLog::newest() const {
  std::vector<CommittedUnit> units;
  const size_t count = std::min(roots_.size(), vertical::kCommittedUnitsMax);
  for (size_t i = roots_.size() - count; i < roots_.size(); ++i) {
    units.push_back({.unit = static_cast<uint32_t>(i + 1), .state = roots_[i]});
  }
  return units;
}

Result<KeptBuckets> BucketLog::behind(uint32_t buckets) const {
  KeptBuckets all;
  if (buckets == 0) return all;
  COT_ASSIGN(const Bytes bytes, os::read_file(file_, kBucketBytesMax));
  ByteView rest = bytes;
  while (all.matched.buckets < buckets) {
    std::optional<KeptBuckets> bucket = read_entry(rest);
    if (!bucket) return Error(ErrorCode::data_loss, file_ + ": it is not as it was written");
    rest = rest.subspan(entry_bytes(*bucket));
    std::vector<uint32_t> rows = std::move(all.matched.rows);
    rows.insert(rows.end(), bucket->matched.rows.begin(), bucket->matched.rows.end());
    all = std::move(*bucket);
    all.matched.rows = std::move(rows);
  }
  return all;
}

}  // namespace coterie
