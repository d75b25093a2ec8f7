// The privacy ledger's anchor: ledger.heads in the data directory, which names the ledger outside of its database
// (secure/dp/ledger/ledger_heads.h). Who cuts records off the table, or puts an older database beside it, is found at
// the next start (docs/adr/0064).
#pragma once

#include "base/result.h"
#include "fl_server/app/data_directory.h"

namespace coterie {

class SqlTrainingStore;

inline constexpr const char* kLedgerHeadsFile = "ledger.heads";

// Checks the ledger against the file, if there is one, and keeps the file up to date as long as the store lives; the
// data directory and the signer outlive it. data_loss, naming the file and the page of the documents, if the ledger
// does not go on from there; malformed or unauthenticated if the file is not one that a server wrote. A file that
// cannot be written is a line in the log: it then names the ledger as it was, and any later one goes on from there.
Status keep_ledger_anchor(SqlTrainingStore& store, const DataDirectory& data, const Signer& signer);

}  // namespace coterie
