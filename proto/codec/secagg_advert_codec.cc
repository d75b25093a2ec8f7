// Adverts, alone in their frame or in a roster's.
#include "proto/codec/secagg_codec.h"
#include "proto/codec/secagg_fields.h"

namespace coterie {
namespace {

wire::Digest32 build(const Key32& key) { return flat::digest(Digest{key}); }

}  // namespace

namespace flat {

Offset<wire::KeyAdvert> build(FlatBufferBuilder& builder, const KeyAdvert& advert) {
  const auto public_key = vector(builder, ByteView(advert.identity.public_key));
  const auto certificate = vector(builder, ByteView(advert.identity.certificate));
  const auto identity =
      wire::CreateDeviceIdentity(builder, static_cast<uint8_t>(advert.identity.key_algorithm), public_key, certificate);
  const auto signature = vector(builder, ByteView(advert.signature));
  const wire::Digest32 mask_key = coterie::build(advert.mask_key);
  const wire::Digest32 seal_key = coterie::build(advert.seal_key);
  const wire::Digest32 seed_commitment = digest(advert.seed_commitment);
  const wire::Digest32 nonce = coterie::build(advert.nonce);
  return wire::CreateKeyAdvert(builder, identity, &mask_key, &seal_key, &seed_commitment, &nonce, signature);
}

Result<KeyAdvert> parse(const wire::KeyAdvert& table) {
  KeyAdvert advert;
  const wire::DeviceIdentity& identity = *table.identity();
  COT_ASSIGN(advert.identity.key_algorithm, key_algorithm(identity.key_algorithm()));
  COT_ASSIGN(advert.identity.public_key, bytes(identity.public_key(), "public_key", limits::kKeyBytesMax));
  COT_ASSIGN(advert.identity.certificate,
             bytes(identity.certificate(), "certificate", limits::kCertificateBytesMax, 0));
  advert.mask_key = digest(*table.mask_key()).bytes;
  advert.seal_key = digest(*table.seal_key()).bytes;
  advert.seed_commitment = digest(*table.seed_commitment());
  advert.nonce = digest(*table.nonce()).bytes;
  COT_ASSIGN(advert.signature, bytes(table.signature(), "signature", limits::kSignatureBytesMax, 0));
  return advert;
}

}  // namespace flat

Bytes encode(const KeyAdvert& message) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(flat::build(builder, message));
  return flat::finish(builder, FrameKind::key_advert);
}

Result<KeyAdvert> decode_key_advert(ByteView bytes) {
  COT_ASSIGN(const Frame frame, parse_frame(bytes, FrameKind::key_advert));
  COT_ASSIGN(const auto root, flat::Root<wire::KeyAdvert>::verify(frame.header));
  return flat::parse(*root);
}

}  // namespace coterie
