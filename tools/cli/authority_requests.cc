#include "tools/cli/authority_requests.h"

#include <algorithm>
#include <optional>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "fl_server/json/rfc3339.h"
#include "proto/messages/secagg.h"
#include "secure/crypto/random.h"
#include "secure/crypto/signature.h"
#include "secure/identity/android_key_judge.h"
#include "secure/identity/authority_nonce.h"
#include "secure/identity/certificate_authority.h"
#include "secure/identity/certificate_request.h"
#include "secure/identity/revocation_list.h"
#include "secure/identity/signed_seconds.h"
#include "tools/cli/authority_commands.h"
#include "tools/cli/local_files.h"
#include "tools/cli/report.h"

namespace coterie {
namespace {

constexpr uint64_t kTextBytesMax = 8ull << 20;

Result<std::string> read_text(const std::string& file) {
  COT_ASSIGN(const Bytes bytes, os::read_file(file, kTextBytesMax));
  return std::string(as_text(bytes));
}

Result<std::optional<RevocationList>> read_list(const std::string& file, const Signer& authority) {
  if (file.empty() || !os::exists(file)) return std::optional<RevocationList>();
  COT_ASSIGN(const Bytes bytes, os::read_file(file, kRevocationListBytesMax));
  COT_ASSIGN(RevocationList list, read_revocation_list(bytes, authority.public_key()));
  return std::optional(std::move(list));
}

// Lower case and without leading zeros, as serials are compared.
std::vector<std::string> serials_in(const std::string& text) {
  std::vector<std::string> serials(1);
  for (const char c : text) {
    if (std::isxdigit(static_cast<unsigned char>(c)) != 0) {
      const char digit = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      if (!serials.back().empty() || digit != '0') serials.back() += digit;
    } else if (!serials.back().empty()) {
      serials.emplace_back();
    }
  }
  return serials;
}

Result<std::optional<AndroidKeyJudge>> android_judge(const AnswerCommand& command) {
  if (command.android_roots_file.empty()) return std::optional<AndroidKeyJudge>();
  AndroidKeyPolicy policy;
  COT_ASSIGN(policy.roots_pem, read_text(command.android_roots_file));
  if (!command.android_revoked_file.empty()) {
    COT_ASSIGN(const std::string revoked, read_text(command.android_revoked_file));
    policy.revoked_serials = serials_in(revoked);
  }
  policy.packages = command.android_packages;
  for (const std::string& signer : command.android_signers) {
    COT_ASSIGN(Bytes digest, from_hex(signer));
    policy.signature_digests.push_back(std::move(digest));
  }
  return std::optional<AndroidKeyJudge>(std::in_place, std::move(policy));
}

Result<Bytes> answer_to(const AnswerCommand& command) {
  COT_ASSIGN(const std::unique_ptr<Signer> authority, load_authority(command.key_file));
  COT_ASSIGN(const Bytes bytes, os::read_file(command.request_file, kCertificateRequestBytesMax));
  COT_ASSIGN(const CertificateRequest request, read_certificate_request(bytes));
  COT_ASSIGN(const std::optional<RevocationList> list, read_list(command.list_file, *authority));
  COT_ASSIGN(const std::optional<AndroidKeyJudge> android, android_judge(command));
  std::vector<const AttestationJudge*> judges;
  if (android) judges.push_back(&*android);
  return answer_request(request,
                        {.now = os::wall_now(),
                         .judges = judges,
                         .serial = fresh_serial(),
                         .validity = std::chrono::days(command.days),
                         .has_lists = command.has_lists,
                         .list = list ? &*list : nullptr},
                        *authority);
}

Result<RevocationList> next_list(const RevokeCommand& command) {
  COT_ASSIGN(const std::unique_ptr<Signer> authority, load_authority(command.key_file));
  COT_ASSIGN(const std::optional<RevocationList> last, read_list(command.list_file, *authority));
  RevocationList list = last.value_or(RevocationList{});
  ++list.number;
  list.issued_at = time_of_seconds(signed_seconds(os::wall_now()));
  list.next_update = list.issued_at + std::chrono::days(command.days);
  list.serials.insert(list.serials.end(), command.serials.begin(), command.serials.end());
  std::erase_if(list.serials, [&](uint64_t serial) { return std::ranges::count(command.forgotten, serial) > 0; });
  std::ranges::sort(list.serials);
  const auto repeated = std::ranges::unique(list.serials);
  list.serials.erase(repeated.begin(), repeated.end());
  COT_ASSIGN(const Bytes bytes, make_revocation_list(list, *authority));
  COT_TRY(os::write_file_atomically(command.list_file, bytes));
  return list;
}

}  // namespace

ExitCode print_authority_nonce(const std::string& key_file) {
  const auto nonce = [&]() -> Result<Bytes> {
    COT_ASSIGN(const std::unique_ptr<Signer> authority, load_authority(key_file));
    return make_authority_nonce(os::wall_now(), random_u64(), *authority);
  }();
  if (!nonce) return fail_on_input("authority challenge", nonce.error());
  print_text(to_hex(*nonce) + "\n");
  return ExitCode::ok;
}

ExitCode answer_request(const AnswerCommand& command) {
  const Result<Bytes> certificate = answer_to(command);
  if (!certificate && certificate.error().code() == ErrorCode::permission_denied) {
    print_error("authority answer", certificate.error());
    return ExitCode::failure;
  }
  if (!certificate) return fail_on_input("authority answer", certificate.error());
  print_text(to_hex(*certificate) + "\n");
  return ExitCode::ok;
}

ExitCode revoke_certificates(const RevokeCommand& command) {
  const Result<RevocationList> list = next_list(command);
  if (!list) return fail_on_input("authority revoke", list.error());
  print_text("number       " + std::to_string(list->number) + "\nrevoked      " + std::to_string(list->serials.size()) +
             "\nnext update  " + rfc3339(list->next_update) + "\n");
  return ExitCode::ok;
}

}  // namespace coterie
