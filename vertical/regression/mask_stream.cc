#include "vertical/regression/mask_stream.h"

#include <algorithm>

#include "base/assert.h"
#include "secure/crypto/domain_fields.h"
#include "secure/crypto/hkdf.h"
#include "secure/crypto/stream_cipher.h"

namespace coterie::vertical {

std::vector<Word> mask_words(const Secret<32>& seed, MaskUse use, uint32_t step, uint32_t chunk, size_t count) {
  // A key for each use, step and chunk: a mask that served twice would show the difference of what it hid.
  DomainFields name("coterie/v1/regression-mask");
  name.add(uint64_t{static_cast<uint32_t>(use)}).add(uint64_t{step}).add(uint64_t{chunk});
  const auto stream = KeyStream::make(CipherSuite::aes256_ctr, hkdf<32>({}, seed.reveal(), name.view()));
  COT_ASSERT(stream.has_value());  // libcrypto always has AES
  Bytes bytes(count * sizeof(Word));
  stream->write(0, bytes);
  std::vector<Word> words(count);
  for (size_t i = 0; i < count; ++i) {
    for (size_t byte = 0; byte < sizeof(Word); ++byte) words[i] |= Word{bytes[8 * i + byte]} << (8 * byte);
  }
  wipe(bytes);
  return words;
}

std::vector<Word> mask_rows(const Secret<32>& seed, MaskUse use, uint32_t step, uint32_t rows, size_t row_words) {
  std::vector<Word> words;
  words.reserve(rows * row_words);
  for (uint32_t row = 0, chunk = 0; row < rows; row += kChunkRows, ++chunk) {
    const size_t count = std::min(kChunkRows, rows - row) * row_words;
    const std::vector<Word> more = mask_words(seed, use, step, chunk, count);
    words.insert(words.end(), more.begin(), more.end());
  }
  return words;
}

}  // namespace coterie::vertical
