#include "vertical/exact/masked_sums.h"

#include <algorithm>

#include "base/assert.h"
#include "secure/crypto/domain_fields.h"
#include "secure/crypto/hkdf.h"
#include "secure/crypto/stream_cipher.h"

namespace coterie::vertical {

std::vector<MaskedSum> draw_masks(const Secret<32>& seed, uint32_t step, size_t columns) {
  DomainFields name("coterie/v1/exact-regression-mask");
  name.add(uint64_t{step});
  const auto stream = KeyStream::make(CipherSuite::aes256_ctr, hkdf<32>({}, seed.reveal(), name.view()));
  COT_ASSERT(stream.has_value());  // libcrypto always has AES
  Bytes bytes(columns * kMaskedSumBytes);
  stream->write(0, bytes);
  std::vector<MaskedSum> masks(columns);
  for (size_t c = 0; c < columns; ++c) {
    MaskedSum& mask = masks[c];
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(c * kMaskedSumBytes), kMaskedSumBytes, mask.begin());
    mask.back() &= 0x3f;  // below 2^150
    for (size_t i = kSumBits / 8; i < kMaskedSumBytes && ++mask[i] == 0;) ++i;
  }
  wipe(bytes);
  return masks;
}

PlainNumber pack_masked(std::span<const MaskedSum> slots) {
  // One limb more than they need, so that the number is positive.
  PlainNumber number(slots.size() * kMaskedSumBytes / 8 + 1);
  for (size_t i = 0; i < slots.size() * kMaskedSumBytes; ++i) {
    number[i / 8] |= uint64_t{slots[i / kMaskedSumBytes][i % kMaskedSumBytes]} << (8 * (i % 8));
  }
  return number;
}

Result<std::vector<MaskedSum>> unpack_masked(const PlainNumber& number, size_t count) {
  std::vector<MaskedSum> slots(count);
  for (size_t i = 0; i < 8 * number.size(); ++i) {
    const auto byte = static_cast<uint8_t>(number[i / 8] >> (8 * (i % 8)));
    if (i < count * kMaskedSumBytes) {
      slots[i / kMaskedSumBytes][i % kMaskedSumBytes] = byte;
    } else if (byte != 0) {
      return Error(ErrorCode::malformed,
                   "regression: a plaintext has more in it than " + std::to_string(count) + " masked sums");
    }
  }
  return slots;
}

Result<int128> unmask(const MaskedSum& masked, const MaskedSum& mask) {
  int128 low = 0;
  int borrow = 0;
  bool is_within = true;
  const auto digit = [&](size_t i) {
    const int difference = int{masked[i]} - int{mask[i]} - borrow;
    borrow = difference < 0 ? 1 : 0;
    return static_cast<uint8_t>(difference + 256 * borrow);
  };
  for (size_t i = 0; i < kSumBits / 8; ++i) low |= int128{digit(i)} << (8 * i);
  // What is above them is the sign.
  std::array<uint8_t, kMaskedSumBytes - kSumBits / 8> high{};
  for (size_t i = 0; i < high.size(); ++i) high[i] = digit(i + kSumBits / 8);
  const bool is_negative = borrow != 0;
  for (const uint8_t byte : high) is_within = is_within && byte == (is_negative ? 0xff : 0);
  if (!is_within) return Error(ErrorCode::malformed, "regression: a sum is beyond 2^80: it was not what was masked");
  return is_negative ? low - (int128{1} << kSumBits) : low;
}

}  // namespace coterie::vertical
