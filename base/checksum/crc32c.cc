#include "base/checksum/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

#include "base/cpu.h"

namespace coterie {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78;  // 0x1edc6f41, the lowest bit first

// tables[k][b]: what byte b does to the CRC when k bytes follow it.
using Tables = std::array<std::array<uint32_t, 256>, 8>;
constexpr Tables kTables = [] {
  Tables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (size_t k = 1; k < 8; ++k) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8) ^ tables[0][before & 0xff];
    }
  }
  return tables;
}();

uint64_t eight_at(const uint8_t* from) {
  uint64_t word = 0;
  std::memcpy(&word, from, sizeof word);
  return word;
}

#if COT_HAS_X86_TARGETS
[[gnu::target("sse4.2")]] uint32_t crc32c_by_instruction(ByteView bytes, uint32_t before) {
  uint64_t crc = ~before;
  size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) crc = __builtin_ia32_crc32di(crc, eight_at(&bytes[at]));
  auto low = static_cast<uint32_t>(crc);
  for (; at < bytes.size(); ++at) low = __builtin_ia32_crc32qi(low, bytes[at]);
  return ~low;
}

bool has_instruction() {
  static const bool has = [] {
    __builtin_cpu_init();
    return __builtin_cpu_supports("sse4.2") != 0;
  }();
  return has;
}
#endif

}  // namespace

uint32_t crc32c_by_tables(ByteView bytes, uint32_t before) {
  uint32_t crc = ~before;
  size_t at = 0;
  if constexpr (std::endian::native == std::endian::little) {
    for (; at + 8 <= bytes.size(); at += 8) {
      const uint64_t word = eight_at(&bytes[at]) ^ crc;
      crc = 0;
      for (size_t i = 0; i < 8; ++i) crc ^= kTables[7 - i][(word >> (8 * i)) & 0xff];
    }
  }
  for (; at < bytes.size(); ++at) crc = (crc >> 8) ^ kTables[0][(crc ^ bytes[at]) & 0xff];
  return ~crc;
}

uint32_t crc32c(ByteView bytes, uint32_t before) {
#if COT_HAS_X86_TARGETS
  if (has_instruction()) return crc32c_by_instruction(bytes, before);
#endif
  return crc32c_by_tables(bytes, before);
}

}  // namespace coterie
