#include "secure/identity/log_head_signature.h"

#include <algorithm>

#include "secure/crypto/domain_fields.h"

namespace coterie {
namespace {

DomainFields fields_of(const SignedLogHead& head) {
  DomainFields fields("coterie/v1/log-head");
  fields.add(head.population.value()).add(head.head.size).add(head.head.root.view());
  return fields;
}

}  // namespace

Status sign_log_head(SignedLogHead& head, const Signer& signer) {
  COT_ASSIGN(head.signature, signer.sign(fields_of(head).view()));
  return {};
}

Status verify_log_head(const SignedLogHead& head, const PinnedKeys& keys) {
  const DomainFields fields = fields_of(head);
  const auto is_by = [&](const Bytes& key) {
    return signature_is_valid(KeyAlgorithm::ed25519, key, fields.view(), head.signature);
  };
  if (is_by(keys.newest) || std::ranges::any_of(keys.retiring, is_by, &RetiringKey::key)) return {};
  return Error(ErrorCode::refused, "log head: not signed by the server this device enrolled with");
}

}  // namespace coterie
