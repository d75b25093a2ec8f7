#include "tools/vertical/bucket_log.h"

#include <algorithm>
#include <utility>

#include "vertical/stage/wire.h"

namespace coterie {
namespace {

using vertical::CommittedUnit;

constexpr uint64_t kBucketBytesMax = uint64_t{5} << 30;  // rows of as many ids as there may be
constexpr size_t kHeadBytes = 56;                        // before the rows, the last four how many there are

std::optional<uint64_t> measure(ByteView bytes) {
  if (bytes.size() < kHeadBytes) return std::nullopt;
  vertical::WireReader reader(bytes.subspan(kHeadBytes - 4));
  return kHeadBytes + uint64_t{4} * reader.u32();
}

Bytes write_entry(const KeptBuckets& bucket) {
  vertical::WireWriter writer;
  writer.reserve(kHeadBytes + 4 * bucket.matched.rows.size());
  writer.u32(bucket.matched.buckets);
  writer.u32(bucket.matched.buckets_all);
  writer.u64(bucket.matched.peer_items);
  writer.digest(bucket.matched.root);
  writer.u32(bucket.heard);
  writer.u32(static_cast<uint32_t>(bucket.matched.rows.size()));
  for (const uint32_t row : bucket.matched.rows) writer.u32(row);
  return writer.take();
}

// The entry must be as it was written.
KeptBuckets read_entry(ByteView entry) {
  vertical::WireReader reader(entry);
  KeptBuckets bucket;
  bucket.matched.buckets = reader.u32();
  bucket.matched.buckets_all = reader.u32();
  bucket.matched.peer_items = reader.u64();
  bucket.matched.root = reader.digest();
  bucket.heard = reader.u32();
  bucket.matched.rows.resize(reader.u32());
  for (uint32_t& row : bucket.matched.rows) row = reader.u32();
  return bucket;
}

}  // namespace

Result<BucketLog> BucketLog::open(const std::string& file) {
  BucketLog log;
  COT_ASSIGN(log.log_,
             CheckedLog::open(file, {.file_bytes_max = kBucketBytesMax, .measure = measure}, [&](ByteView entry) {
               const KeptBuckets bucket = read_entry(entry);
               if (bucket.matched.buckets != log.roots_.size() + 1) return false;
               log.roots_.push_back(bucket.matched.root);
               return true;
             }));
  return log;
}

Status BucketLog::put(const KeptBuckets& bucket) {
  if (log_.keeps_nothing()) return {};
  const uint32_t number = bucket.matched.buckets;
  COT_ASSERT(number > 0 && number <= roots_.size() + 1);
  if (number <= roots_.size()) {
    if (roots_[number - 1] == bucket.matched.root) return {};
    return Error(ErrorCode::data_loss, log_.file() + ": bucket " + std::to_string(number) +
                                           " of the matching came out otherwise than before");
  }
  COT_TRY(log_.append(write_entry(bucket)));
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
  COT_TRY(log_.read([&](ByteView entry) {
    KeptBuckets bucket = read_entry(entry);
    std::vector<uint32_t> rows = std::move(all.matched.rows);
    rows.insert(rows.end(), bucket.matched.rows.begin(), bucket.matched.rows.end());
    all = std::move(bucket);
    all.matched.rows = std::move(rows);
    return all.matched.buckets < buckets;
  }));
  if (all.matched.buckets < buckets) return Error(ErrorCode::data_loss, log_.file() + ": it is not as it was written");
  return all;
}

}  // namespace coterie
