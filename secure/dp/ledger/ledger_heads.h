// LedgerHeads: what names the privacy ledger at one moment, as a whole and by population, in a signed text that is kept
// outside the database (docs/adr/0064): whoever has one sees whether a later ledger goes on from it. Pure.
//
//   coterie privacy ledger heads 1
//   time 1760000000000
//   chain 14 HEAD
//   log 10 ROOT POPULATION          a line a population, by name; the name's bytes in hex
//   key ed25519 PUBLIC_KEY
//   signature SIGNATURE             over DomainFields "coterie/v1/ledger-heads" and all lines above
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "proto/messages/ledger_head.h"
#include "proto/messages/population_log.h"
#include "secure/crypto/signature.h"
#include "secure/dp/ledger/ledger.h"
#include "secure/dp/ledger/population_logs.h"

namespace coterie {

struct LedgerHeads {
  LedgerHead chain;
  std::map<Population, LogHead> logs;
  WallTime time;
};

LedgerHeads heads_of(const Ledger& ledger, const PopulationLogs& logs, WallTime now);

// data_loss, naming the population, unless the ledger begins with what these heads name.
Status verify_continues(const Ledger& ledger, const PopulationLogs& logs, const LedgerHeads& before);

Result<std::string> signed_text(const LedgerHeads& heads, const Signer& signer);

struct SignedHeads {
  LedgerHeads heads;
  Bytes public_key;  // Ed25519: who says so; compare it with the key that devices have pinned
};

inline constexpr uint64_t kSignedHeadsBytesMax = 16 << 20;

// malformed if it is no such text; unauthenticated if the signature is not of the key that it names.
Result<SignedHeads> read_signed_heads(std::string_view text);

}  // namespace coterie
