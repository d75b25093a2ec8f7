#include "secure/mask/mask_kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "secure/mask/aes256.h"
#include "secure/mask/mask_self_test.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

constexpr LaneOp kOps[] = {LaneOp::store,      LaneOp::add16,      LaneOp::add32,     LaneOp::add64,
                           LaneOp::subtract16, LaneOp::subtract32, LaneOp::subtract64};
constexpr size_t kPageBlocks = 256, kInStepBlocks = 8 * kPageBlocks;

struct Named {
  CipherSuite suite;
  MaskKernel kernel;
};

std::vector<Named> kernels_of_this_cpu() {
  std::vector<Named> all;
  for (const CipherSuite suite : {CipherSuite::aes256_ctr, CipherSuite::chacha20}) {
    for (const MaskKernel& kernel : mask_kernels(suite)) all.push_back({suite, kernel});
  }
  return all;
}

Secret<32> random_seed(Prng& prng) {
  Secret<32> seed;
  for (uint8_t& byte : seed.mutable_bytes()) byte = static_cast<uint8_t>(prng.next());
  return seed;
}

class EachMaskKernel : public testing::TestWithParam<Named> {
 protected:
  // Each op on lanes of random content, at an address that is a multiple of nothing and ends where the memory ends.
  void expect_equals_oracle(uint32_t first_block, size_t blocks, LaneOp op) {
    Prng prng = Prng::derived(first_block, blocks);
    const Secret<32> seed = random_seed(prng);
    const auto stream = GetParam().kernel.open(seed);
    ASSERT_TRUE(stream);
    const size_t size = blocks * kMaskBlockBytes;
    Bytes expected(size), oracle(size);
    for (uint8_t& byte : expected) byte = static_cast<uint8_t>(prng.next());
    const auto got = std::make_unique<uint8_t[]>(size + 1);
    std::copy(expected.begin(), expected.end(), got.get() + 1);
    KeyStream::make(GetParam().suite, seed)->write(uint64_t{first_block} * kMaskBlockBytes, oracle);
    combine(op, oracle, expected);
    (*stream)->run(op, first_block, {got.get() + 1, size});
    ASSERT_TRUE(std::equal(expected.begin(), expected.end(), got.get() + 1))
        << blocks << " blocks from " << first_block << ", op " << static_cast<int>(op);
  }
};

TEST_P(EachMaskKernel, EqualsTheKeyStreamForEveryLengthWithinAPage) {
  for (size_t blocks = 0; blocks <= kPageBlocks + 1; blocks += blocks < 70 ? 1 : 11) {
    expect_equals_oracle(0, blocks, LaneOp::store);
    expect_equals_oracle(static_cast<uint32_t>(300 - blocks), blocks, LaneOp::add32);
  }
}

TEST_P(EachMaskKernel, HasEveryOpWithPagesInStepAndEndsOnBothSides) {
  for (const LaneOp op : kOps) {
    expect_equals_oracle(0, kInStepBlocks, op);
    expect_equals_oracle(kPageBlocks - 5, 5 + kInStepBlocks + 7, op);
    expect_equals_oracle(3, 40, op);
  }
}

// Where a byte of the counter carries into the next, between pages in step and within the last page.
TEST_P(EachMaskKernel, CarriesTheCounterThroughAllItsBytes) {
  for (const int bit : {8, 16, 24, 28, 31}) {
    const uint32_t border = uint32_t{1} << bit;
    for (const uint32_t before : {0u, 1u, 33u, 255u}) expect_equals_oracle(border - before, 66, LaneOp::add32);
    if (bit > 10) expect_equals_oracle(border - 4 * kPageBlocks, kInStepBlocks, LaneOp::add64);
  }
}

TEST_P(EachMaskKernel, ReachesTheLastBlockOfTheStream) {
  constexpr uint64_t kBlocks = kKeyStreamBytesMax / kMaskBlockBytes;
  static_assert(kBlocks - 1 == UINT32_MAX);
  for (const size_t blocks : {size_t{1}, size_t{31}, kPageBlocks, kInStepBlocks, kInStepBlocks + 9}) {
    expect_equals_oracle(static_cast<uint32_t>(kBlocks - blocks), blocks, LaneOp::subtract32);
  }
}

TEST_P(EachMaskKernel, EqualsTheKeyStreamAtRandomPlaces) {
  Prng prng(7);
  for (int i = 0; i < 40; ++i) {
    const size_t blocks = prng.below(600);
    const auto first = static_cast<uint32_t>(prng.next() >> (32 + prng.below(32)));
    if (uint64_t{first} + blocks > uint64_t{1} << 32) continue;
    expect_equals_oracle(first, blocks, kOps[prng.below(std::size(kOps))]);
  }
}

TEST_P(EachMaskKernel, PassesTheSelfTest) { EXPECT_TRUE(mask_self_test(GetParam().kernel, GetParam().suite)); }

INSTANTIATE_TEST_SUITE_P(, EachMaskKernel, testing::ValuesIn(kernels_of_this_cpu()), [](const auto& one) {
  std::string name(one.param.kernel.name);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(MaskKernels, EndWithTheOracleAndHaveNamesOfTheirOwn) {
  EXPECT_EQ(mask_kernels(CipherSuite::aes256_ctr).back().name, "aes256-libcrypto");
  EXPECT_EQ(mask_kernels(CipherSuite::chacha20).back().name, "chacha20-libcrypto");
  EXPECT_TRUE(mask_kernels(static_cast<CipherSuite>(0)).empty());
  EXPECT_TRUE(mask_kernels(static_cast<CipherSuite>(3)).empty());
}

TEST(MaskSelfTest, PassesHere) { EXPECT_TRUE(mask_self_test()); }

// Wrong in one bit of one block: of the pages in step, of the page alone, of the partial block.
template <uint32_t kBlock>
class OneWrongBit final : public MaskStream {
 public:
  explicit OneWrongBit(std::unique_ptr<MaskStream> stream) : stream_(std::move(stream)) {}
  void run(LaneOp op, uint32_t first_block, std::span<uint8_t> out) const override {
    stream_->run(op, first_block, out);
    if (kBlock >= first_block && kBlock - first_block < out.size() / kMaskBlockBytes) {
      out[(kBlock - first_block) * kMaskBlockBytes] ^= 1;
    }
  }
  static Result<std::unique_ptr<MaskStream>> open(const Secret<32>& seed) {
    COT_ASSIGN(auto right, mask_kernels(CipherSuite::aes256_ctr).front().open(seed));
    return std::unique_ptr<MaskStream>(std::make_unique<OneWrongBit>(std::move(right)));
  }

 private:
  std::unique_ptr<MaskStream> stream_;
};

TEST(MaskSelfTest, NamesAKernelThatIsWrongInOneBit) {
  for (const auto open : {OneWrongBit<7>::open, OneWrongBit<2048 + 100>::open, OneWrongBit<2048 + 256 + 1>::open,
                          OneWrongBit<(1u << 28)>::open, OneWrongBit<UINT32_MAX>::open}) {
    EXPECT_ERROR(mask_self_test({"broken", open}, CipherSuite::aes256_ctr), ErrorCode::internal, "mask kernel broken");
  }
  const MaskKernel& aes = mask_kernels(CipherSuite::aes256_ctr).front();
  EXPECT_ERROR(mask_self_test(aes, CipherSuite::chacha20), ErrorCode::internal, aes.name);
}

#if COT_HAS_X86_TARGETS
// FIPS 197, appendix A.3: words 4 i to 4 i + 3 are round key i.
TEST(Aes256KeySchedule, GivesThePublishedRoundKeys) {
  if (mask_kernels(CipherSuite::aes256_ctr).size() == 1) GTEST_SKIP() << "no AES instructions here";
  const Bytes key = *from_hex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4");
  std::array<uint8_t, kAes256RoundKeysBytes> round_keys;
  expand_aes256_key(std::span<const uint8_t, 32>(key), round_keys);
  EXPECT_EQ(to_hex(round_keys),
            "603deb1015ca71be2b73aef0857d7781"
            "1f352c073b6108d72d9810a30914dff4"
            "9ba354118e6925afa51a8b5f2067fcde"
            "a8b09c1a93d194cdbe49846eb75d5b9a"
            "d59aecb85bf3c917fee94248de8ebe96"
            "b5a9328a2678a647983122292f6c79b3"
            "812c81addadf48ba24360af2fab8b464"
            "98c5bfc9bebd198e268c3ba709e04214"
            "68007bacb2df331696e939e46c518d80"
            "c814e20476a9fb8a5025c02d59c58239"
            "de1369676ccc5a71fa2563959674ee15"
            "5886ca5d2e2f31d77e0af1fa27cf73c3"
            "749c47ab18501ddae2757e4f7401905a"
            "cafaaae3e4d59b349adf6acebd10190d"
            "fe4890d1e6188d0b046df344706c631e");
}
#endif

}  // namespace
}  // namespace coterie
