#include "tools/cli/privacy_verify.h"

#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "secure/dp/account/number_words.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"

namespace coterie {
namespace {

constexpr const char* kCommand = "privacy verify";
constexpr double kDeltaShown = 1e-6;

Status judge(const VerifyCommand& verify, const nlohmann::json& answer) {
  COT_ASSIGN(const LedgerExport ledger, read_ledger_export(answer));
  COT_ASSIGN(std::string text, verified_text(ledger));
  if (!verify.heads.empty()) {
    COT_ASSIGN(const Bytes heads, read_input(verify.heads));
    const Status continues = verify_against(ledger, as_text(heads), verify.server_key);
    if (!continues) return continues.error().with_context(verify.heads);
    text += "it goes on from " + printable(verify.heads) + "\n";
  }
  print_text(text);
  return {};
}

Status judge_file(const VerifyCommand& verify) {
  COT_ASSIGN(const Bytes file, read_input(verify.ledger));
  const nlohmann::json answer = nlohmann::json::parse(as_text(file), nullptr, false);
  return judge(verify, answer);
}

}  // namespace

Result<std::string> verified_text(const LedgerExport& exported) {
  const Ledger& ledger = exported.ledger;
  std::string text = "ledger: " + std::to_string(ledger.size()) + " records, each follows the one before, head " +
                     ledger.head().hex() + "\n";
  for (const Population& population : exported.logs.populations()) {
    const MerkleLog& log = exported.logs.log_of(population);
    COT_ASSIGN(const PrivacySpent spent, ledger.spent(exported.logs.jobs_of(population), kDeltaShown));
    text += printable("population " + population.value()) + ": " + std::to_string(log.size()) + " records, root " +
            log.root().hex() + "; " + std::to_string(spent.releases) + " releases, epsilon " +
            number_words(spent.account.epsilon) + " at delta " + number_words(kDeltaShown) + "\n";
  }
  if (!exported.has_populations) text += "its records do not say of which population they are\n";
  return text;
}

Status verify_against(const LedgerExport& ledger, std::string_view heads, const std::string& server_key) {
  COT_ASSIGN(const SignedHeads read, read_signed_heads(heads));
  if (!server_key.empty() && to_hex(read.public_key) != server_key) {
    return Error(ErrorCode::unauthenticated, "the heads are signed by " + to_hex(read.public_key));
  }
  LedgerHeads before = read.heads;
  if (!ledger.has_populations) before.logs.clear();
  return verify_continues(ledger.ledger, ledger.logs, before);
}

ExitCode verify_privacy(const AdminCommand& command, const VerifyCommand& verify) {
  if (!verify.ledger.empty()) {
    const Status good = judge_file(verify);
    if (good) return ExitCode::ok;
    print_error(kCommand, good.error());
    return exit_code_of(good.error().code());
  }
  return with_admin(command, kCommand, [&](AdminClient& admin) -> Status {
    COT_ASSIGN(const nlohmann::json answer, admin.get_pages("ledger?limit=1000", "records"));
    if (!verify.save.empty()) COT_TRY(os::write_file_atomically(verify.save, as_bytes(answer.dump())));
    return judge(verify, answer);
  });
}

}  // namespace coterie
