#include "fl_server/records/admin_token.h"

#include "secure/crypto/random.h"

namespace coterie {
namespace {

constexpr std::string_view kPrefix = "cota_";
constexpr size_t kIdBytes = 8;
constexpr size_t kSecretBytes = 32;

}  // namespace

NewAdminToken generate_admin_token() {
  NewAdminToken token;
  token.id = to_hex(random_bytes(kIdBytes));
  token.text = std::string(kPrefix) + token.id + "_" + to_base64url(random_bytes(kSecretBytes));
  return token;
}

std::optional<std::string> admin_token_id(std::string_view text) {
  constexpr size_t kIdEnd = kPrefix.size() + 2 * kIdBytes;
  if (text.size() <= kIdEnd || !text.starts_with(kPrefix) || text[kIdEnd] != '_') return std::nullopt;
  const std::string_view id = text.substr(kPrefix.size(), 2 * kIdBytes);
  const Result<Bytes> secret = from_base64url(text.substr(kIdEnd + 1));
  if (!from_hex(id) || !secret || secret->size() != kSecretBytes) return std::nullopt;
  return std::string(id);
}

}  // namespace coterie
