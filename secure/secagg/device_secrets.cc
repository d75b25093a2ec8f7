#include "secure/secagg/device_secrets.h"

#include <algorithm>
#include <cstring>

#include "base/assert.h"
#include "secure/crypto/domain_fields.h"
#include "secure/crypto/hkdf.h"

namespace coterie::secagg {

Secret<32> DeviceSecrets::secret_for(std::string_view purpose) const {
  DomainFields info("coterie/v1/device-secret");
  info.add(context_.view()).add(purpose);
  Secret<32> secret;
  hkdf_expand(seed_, info.view(), secret.mutable_bytes());
  return secret;
}

DeviceSecrets::DeviceSecrets(Secret<32> seed, const Digest& context)
    : seed_(std::move(seed)),
      context_(context),
      mask_key_(secret_for("mask-key")),
      seal_key_(secret_for("seal-key")),
      own_seed_(secret_for("own-seed")) {
  const Secret<32> nonce = secret_for("nonce");
  std::ranges::copy(nonce.reveal(), nonce_.begin());
}

Result<DeviceSecrets> DeviceSecrets::derive(Secret<32> seed, const Digest& context) {
  if (std::ranges::all_of(seed.reveal(), [](uint8_t byte) { return byte == 0; })) {
    return Error(ErrorCode::invalid_argument,
                 "the seed of a secure aggregation session is all zeros: it was never drawn");
  }
  return DeviceSecrets(std::move(seed), context);
}

Status DeviceSecrets::random(std::string_view purpose, std::span<uint8_t> out) const {
  COT_ASSIGN(const KeyStream stream, key_stream(purpose));
  stream.write(0, out);
  return {};
}

Result<KeyStream> DeviceSecrets::key_stream(std::string_view purpose) const {
  return KeyStream::make(CipherSuite::chacha20, secret_for(purpose));
}

// Floyd's algorithm ("A sample of brilliance", CACM 1987). A device is one 64-bit word modulo the range: off uniform by
// less than 2^-50.
Result<std::vector<uint32_t>> DeviceSecrets::draw_holders(uint32_t count, uint32_t size, uint32_t self) const {
  COT_ASSERT(count < size && self < size);
  Bytes words(size_t{count} * 8);
  COT_TRY(random("holders", words));
  const uint32_t others = size - 1;
  std::vector<uint32_t> drawn;  // of the others, counted without self
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t last = others - count + i;
    uint64_t word;
    std::memcpy(&word, words.data() + size_t{i} * 8, 8);
    const auto candidate = static_cast<uint32_t>(word % (last + 1));
    drawn.push_back(std::ranges::find(drawn, candidate) == drawn.end() ? candidate : last);
  }
  wipe(words);
  for (uint32_t& device : drawn) device += device >= self ? 1 : 0;
  std::ranges::sort(drawn);
  return drawn;
}

}  // namespace coterie::secagg
