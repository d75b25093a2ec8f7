#include "secure/mask/mask_self_test.h"

#include <array>
#include <string>
#include <vector>

#include "secure/mask/mask_sum.h"

namespace coterie {
namespace {

constexpr size_t kTestBytes = kMaskTileBytes + 4096 + 24;  // pages in step, one alone, and a part of a block

Secret<32> test_key(uint8_t number) {
  std::array<uint8_t, 32> key{};
  for (size_t i = 0; i < key.size(); ++i) key[i] = static_cast<uint8_t>(number * 32 + i);
  return Secret<32>(key);
}

// One key's stream at `offset`, added to zeros and subtracted from zeros: the first must be the oracle's bytes, the
// second the first, negated.
template <typename Lane>
Result<bool> agrees(const MaskKernel& kernel, CipherSuite suite, const Secret<32>& key, uint64_t offset) {
  std::vector<Lane> expected(kTestBytes / sizeof(Lane)), plus(expected.size()), minus(expected.size());
  COT_ASSIGN(const KeyStream oracle, KeyStream::make(suite, key));
  oracle.write(offset, {reinterpret_cast<uint8_t*>(expected.data()), kTestBytes});
  for (const MaskSign sign : {MaskSign::plus, MaskSign::minus}) {
    MaskSum sum(kernel);
    COT_TRY(sum.add(key, sign));
    sum.apply(offset / sizeof(Lane), std::span<Lane>(sign == MaskSign::plus ? plus : minus));
  }
  for (Lane& lane : minus) lane = static_cast<Lane>(0 - lane);
  return plus == expected && minus == expected;
}

}  // namespace

Status mask_self_test() {
  for (const CipherSuite suite : {CipherSuite::aes256_ctr, CipherSuite::chacha20}) {
    for (const MaskKernel& kernel : mask_kernels(suite)) COT_TRY(mask_self_test(kernel, suite));
  }
  return {};
}

Status mask_self_test(const MaskKernel& kernel, CipherSuite suite) {
  // At the begin of a stream, in the midst of a block where an offset of 32 bits would wrap, and at the last byte there
  // is.
  for (const uint64_t offset : {uint64_t{0}, (uint64_t{1} << 32) - 8, kKeyStreamBytesMax - kTestBytes}) {
    COT_ASSIGN(const bool ok16, agrees<uint16_t>(kernel, suite, test_key(0), offset));
    COT_ASSIGN(const bool ok32, agrees<uint32_t>(kernel, suite, test_key(1), offset));
    COT_ASSIGN(const bool ok64, agrees<uint64_t>(kernel, suite, test_key(2), offset));
    if (ok16 && ok32 && ok64) continue;
    return Error(ErrorCode::internal, "the mask kernel " + std::string(kernel.name) +
                                          " gives another stream than libcrypto at byte " + std::to_string(offset) +
                                          ": this processor or this build cannot be trusted with masks");
  }
  return {};
}

}  // namespace coterie
