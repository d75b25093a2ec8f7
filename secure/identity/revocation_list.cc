#include "secure/identity/revocation_list.h"

#include <algorithm>

#include "secure/crypto/domain_fields.h"
#include "secure/crypto/field_reader.h"
#include "secure/identity/device_certificate.h"
#include "secure/identity/signed_seconds.h"

namespace coterie {
namespace {

constexpr std::string_view kDomain = "coterie/v1/revocations";
constexpr size_t kSerialBytes = 8, kSignatureBytes = 64;

bool ascends(const std::vector<uint64_t>& serials) {
  return std::ranges::adjacent_find(serials, std::greater_equal()) == serials.end();
}

// What must be true of a list, whoever made it.
Status check_range(const RevocationList& list, ErrorCode code) {
  const auto bad = [code](const std::string& problem) {
    return Error(code, "list of revoked certificates: " + problem);
  };
  if (list.number == 0) return bad("its number must be 1 or more");
  if (!is_whole_second(list.issued_at) || !is_whole_second(list.next_update)) {
    return bad("its times must be whole seconds since 1970");
  }
  if (list.next_update <= list.issued_at || list.next_update - list.issued_at > kRevocationListValidityMax) {
    return bad("its next update must come after it was issued, and within " +
               std::to_string(kRevocationListValidityMax.count()) + " days");
  }
  if (list.serials.size() > kRevokedMax) {
    return bad("it has " + std::to_string(list.serials.size()) + " serials, at most " + std::to_string(kRevokedMax) +
               " fit: leave out those that have ended");
  }
  // A list has one form, and names() searches by halves.
  if (!ascends(list.serials)) return bad("its serials must ascend, each once");
  return {};
}

Bytes bytes_of(const std::vector<uint64_t>& serials) {
  Bytes bytes;
  bytes.reserve(serials.size() * kSerialBytes);
  for (const uint64_t serial : serials) {
    for (size_t i = kSerialBytes; i-- > 0;) bytes.push_back(static_cast<uint8_t>(serial >> 8 * i));
  }
  return bytes;
}

std::vector<uint64_t> serials_of(ByteView bytes) {
  std::vector<uint64_t> serials(bytes.size() / kSerialBytes);
  for (size_t i = 0; i < serials.size() * kSerialBytes; ++i) {
    uint64_t& serial = serials[i / kSerialBytes];
    serial = serial << 8 | bytes[i];
  }
  return serials;
}

}  // namespace

bool RevocationList::names(uint64_t serial) const { return std::ranges::binary_search(serials, serial); }

Result<Bytes> make_revocation_list(RevocationList list, const Signer& authority) {
  if (authority.algorithm() != KeyAlgorithm::ed25519) {
    return Error(ErrorCode::invalid_argument, "list of revoked certificates: the authority's key must be Ed25519");
  }
  COT_TRY(check_range(list, ErrorCode::invalid_argument));
  list.issuer = authority_id(authority.public_key());
  DomainFields fields(kDomain);
  fields.add(list.issuer.view())
      .add(list.number)
      .add(signed_seconds(list.issued_at))
      .add(signed_seconds(list.next_update))
      .add(ByteView(bytes_of(list.serials)));
  COT_ASSIGN(const Bytes signature, authority.sign(fields.view()));
  fields.add(signature);
  return Bytes(fields.view().begin(), fields.view().end());
}

Result<RevocationList> read_revocation_list(ByteView bytes, ByteView authority_key) {
  constexpr std::string_view kWhat = "list of revoked certificates";
  if (bytes.size() > kRevocationListBytesMax) {
    return Error(ErrorCode::too_large, std::string(kWhat) + ": has " + std::to_string(bytes.size()) +
                                           " bytes, at most " + std::to_string(kRevocationListBytesMax) + " are read");
  }
  RevocationList list;
  FieldReader reader(bytes, kWhat);
  COT_TRY(reader.domain(kDomain));
  COT_ASSIGN(const ByteView issuer, reader.bytes("issuer", sizeof list.issuer.bytes, sizeof list.issuer.bytes));
  std::ranges::copy(issuer, list.issuer.bytes.begin());
  COT_ASSIGN(list.number, reader.number("number", UINT64_MAX));
  COT_ASSIGN(const uint64_t issued_at, reader.number("issued_at", kSignedSecondsMax));
  COT_ASSIGN(const uint64_t next_update, reader.number("next_update", kSignedSecondsMax));
  COT_ASSIGN(const ByteView serials, reader.bytes("serials", 0, kRevokedMax * kSerialBytes));
  const ByteView text = reader.read_so_far();
  COT_ASSIGN(const ByteView signature, reader.bytes("signature", kSignatureBytes, kSignatureBytes));
  COT_TRY(reader.end());
  // The signature before the content: what is wrong with the content of a stranger's list is nobody's business.
  if (list.issuer != authority_id(authority_key) ||
      !signature_is_valid(KeyAlgorithm::ed25519, authority_key, text, signature)) {
    return Error(ErrorCode::unauthenticated, std::string(kWhat) + ": it is not by this authority");
  }
  if (serials.size() % kSerialBytes != 0) {
    return Error(ErrorCode::malformed, std::string(kWhat) + ": its serials have " + std::to_string(serials.size()) +
                                           " bytes, a serial has 8");
  }
  list.issued_at = time_of_seconds(issued_at);
  list.next_update = time_of_seconds(next_update);
  list.serials = serials_of(serials);
  COT_TRY(check_range(list, ErrorCode::malformed));
  return list;
}

}  // namespace coterie
