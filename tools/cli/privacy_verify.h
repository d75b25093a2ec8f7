// coterie privacy verify: whether a server's privacy ledger is whole, and goes on from what was noted of it before.
#pragma once

#include <string>

#include "tools/admin/ledger_records.h"
#include "tools/cli/admin_command.h"

namespace coterie {

struct VerifyCommand {
  std::string ledger;      // an export of before, offline; empty: asked for
  std::string heads;       // a server's ledger.heads, of now or before; empty: none
  std::string server_key;  // Ed25519, hex: whose heads they must be; empty: anybody's
  std::string save;        // where what was asked for is written; empty: nowhere
};

ExitCode verify_privacy(const AdminCommand& command, const VerifyCommand& verify);

// For a person: how many records, and of each population its log's root and what it has spent.
Result<std::string> verified_text(const LedgerExport& ledger);

// data_loss unless the ledger goes on from the heads; unauthenticated unless they are of this key, if one is named.
Status verify_against(const LedgerExport& ledger, std::string_view heads, const std::string& server_key);

}  // namespace coterie
