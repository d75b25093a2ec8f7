#include "vertical/trees/secret_order.h"

#include <numeric>

#include "secure/crypto/hkdf.h"
#include "secure/crypto/stream_cipher.h"
#include "vertical/stage/wire.h"

namespace coterie::vertical {

std::vector<uint32_t> secret_order(const Secret<32>& seed, std::string_view purpose, uint32_t number, uint32_t count) {
  WireWriter info;
  info.raw(as_bytes(purpose));
  info.u32(number);
  const auto stream = KeyStream::make(CipherSuite::chacha20, hkdf<32>({}, seed.reveal(), info.take()));
  COT_ASSERT(stream.has_value());  // libcrypto always has ChaCha20
  Bytes random(size_t{8} * count);
  stream->write(0, random);
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  // Fisher-Yates; 64 random bits modulo at most 2^22 are uniform but for 2^-42.
  WireReader words(random);
  for (uint32_t i = count; i > 1; --i) {
    const uint64_t low = words.u32();
    const uint64_t word = low | (uint64_t{words.u32()} << 32);
    std::swap(order[i - 1], order[word % i]);
  }
  wipe(random);
  return order;
}

}  // namespace coterie::vertical
