// BucketLog: what a party's matching came to in each of its buckets, in a file that only grows, so that a matching
// which is cut off goes on behind the last bucket that both parties have.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "tools/vertical/checked_log.h"
#include "vertical/psi/matching.h"
#include "vertical/resume/run_position.h"

namespace coterie {

struct KeptBuckets {
  vertical::MatchedBuckets matched;
  uint32_t heard = 0;  // how many messages of the peer came until then (heard_log.h)
};

class BucketLog {
 public:
  BucketLog() = default;  // keeps nothing
  // What a write that was cut off has left at the file's end is removed: the peer has heard nothing behind it.
  static Result<BucketLog> open(const std::string& file);

  // The bucket behind the last one, with its own rows; durable when it returns. One that is there already must have
  // come out the same: data_loss.
  Status put(const KeptBuckets& bucket);
  // The last ones, as a position has them.
  std::vector<vertical::CommittedUnit> newest() const;
  // What is known behind so many buckets, with the rows of all of them. Precondition: newest() had them once.
  Result<KeptBuckets> behind(uint32_t buckets) const;

 private:
  CheckedLog log_;
  std::vector<Digest> roots_;  // [bucket]
};

}  // namespace coterie
