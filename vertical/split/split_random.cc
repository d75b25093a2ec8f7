#include "vertical/split/split_random.h"

#include <cmath>
#include <numbers>

#include "base/assert.h"
#include "secure/crypto/domain_fields.h"
#include "secure/crypto/hkdf.h"
#include "secure/crypto/stream_cipher.h"

namespace coterie::vertical {

Secret<32> split_seed(const Secret<32>& seed, SplitDraw draw, uint32_t step) {
  DomainFields name("coterie/v1/split-draw");
  name.add(uint64_t{static_cast<uint32_t>(draw)}).add(uint64_t{step});
  return hkdf<32>({}, seed.reveal(), name.view());
}

std::vector<uint64_t> split_words(const Secret<32>& seed, SplitDraw draw, uint32_t step, size_t count) {
  const auto stream = KeyStream::make(CipherSuite::aes256_ctr, split_seed(seed, draw, step));
  COT_ASSERT(stream.has_value());  // libcrypto always has AES
  Bytes bytes(count * sizeof(uint64_t));
  stream->write(0, bytes);
  std::vector<uint64_t> words(count);
  for (size_t i = 0; i < count; ++i) {
    for (size_t byte = 0; byte < 8; ++byte) words[i] |= uint64_t{bytes[8 * i + byte]} << (8 * byte);
  }
  wipe(bytes);
  return words;
}

std::vector<double> split_normals(const Secret<32>& seed, SplitDraw draw, uint32_t step, size_t count) {
  const std::vector<uint64_t> words = split_words(seed, draw, step, 2 * count);
  std::vector<double> normals(count);
  for (size_t i = 0; i < count; ++i) {  // Box and Muller 1958
    const double radius = std::sqrt(-2 * std::log(1 - uniform_of(words[2 * i])));
    normals[i] = radius * std::cos(2 * std::numbers::pi * uniform_of(words[2 * i + 1]));
  }
  return normals;
}

}  // namespace coterie::vertical
