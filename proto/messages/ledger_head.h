// LedgerHead: what names a server's privacy ledger as it was at one moment
// (secure/dp/ledger/ledger_record.h): how many records it had, and the digest of the last, which holds the
// digest of the one before. The same ledger later has more records.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace coterie {

struct LedgerHead {
  uint64_t records = 0;
  Digest head;  // zeros without records
  friend bool operator==(const LedgerHead&, const LedgerHead&) = default;
};

}  // namespace coterie
