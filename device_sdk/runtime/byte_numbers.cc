#include "device_sdk/runtime/byte_numbers.h"

#include "base/assert.h"

namespace coterie {
namespace {

// Apart from any object: a store to `numbers` could else change scale and offset.
[[gnu::always_inline]] inline void convert(const uint8_t* bytes, size_t count, float scale, float offset,
                                           float* numbers) {
  for (size_t i = 0; i < count; ++i) numbers[i] = static_cast<float>(bytes[i]) * scale + offset;
}

void convert_baseline(const uint8_t* bytes, size_t count, float scale, float offset, float* numbers) {
  convert(bytes, count, scale, offset, numbers);
}
#if COT_HAS_X86_TARGETS && !defined(COTERIE_NO_AVX2)
COT_TARGET_AVX2 void convert_avx2(const uint8_t* bytes, size_t count, float scale, float offset, float* numbers) {
  convert(bytes, count, scale, offset, numbers);
}
COT_TARGET_AVX512 void convert_avx512(const uint8_t* bytes, size_t count, float scale, float offset, float* numbers) {
  convert(bytes, count, scale, offset, numbers);
}
#endif

}  // namespace

#ifdef COTERIE_NO_AVX2  // a list leaves them out: what asks the CPU takes 5 KiB

void numbers_of_bytes(ByteView bytes, float scale, float offset, std::span<float> numbers) {
  COT_ASSERT(bytes.size() == numbers.size());
  convert_baseline(bytes.data(), bytes.size(), scale, offset, numbers.data());
}

#else

void numbers_of_bytes(ByteView bytes, float scale, float offset, std::span<float> numbers) {
  numbers_of_bytes(cpu_simd_level(), bytes, scale, offset, numbers);
}

void numbers_of_bytes(SimdLevel level, ByteView bytes, float scale, float offset, std::span<float> numbers) {
  COT_ASSERT(bytes.size() == numbers.size() && level <= cpu_simd_level());
  auto* convert = &convert_baseline;
#if COT_HAS_X86_TARGETS
  if (level == SimdLevel::avx2) convert = &convert_avx2;
  if (level == SimdLevel::avx512) convert = &convert_avx512;
#endif
  convert(bytes.data(), bytes.size(), scale, offset, numbers.data());
}

#endif

}  // namespace coterie
