// The form of an entry of the data cache: blocks of bytes in one file, and what says that they are whole. Pure.
//
//   offset 0   8 bytes   "COTCACHE"
//          8   u32       version of this form, 1
//         12   u32       number of blocks, at most kEntryBlocksMax
//         16   32 bytes  key: what the entry is named
//         48   u64       bytes of the whole file
//         56   u64       microseconds that its making took, for statistics alone
//         64   16 bytes a block: u64 offset, u64 bytes; all kEntryBlocksMax places, zeros where there is none
//        128   u32 a block: CRC-32C of its bytes; likewise
//        144   12 bytes  zeros
//        156   u32       CRC-32C of the 156 bytes in front
//        192   blocks, each at the next multiple of 64, with zeros between them; the file ends with the last
//
// All integers little-endian. There is one text for an entry: whatever bit is changed, it is found.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace coterie {

inline constexpr size_t kEntryBlocksMax = 4;
inline constexpr size_t kEntryAlignment = 64;  // as in frames, whose payloads are numbers
inline constexpr size_t kEntryHeadBytes = 192;
inline constexpr size_t kEntryHeadChecksumAt = 156;

struct EntryView {
  uint64_t making_us = 0;
  std::vector<ByteView> blocks;  // into the file
};

// How many bytes of zeros follow `size` bytes up to the next block.
constexpr size_t entry_padding(uint64_t size) { return (kEntryAlignment - size % kEntryAlignment) % kEntryAlignment; }

// What the file of these blocks begins with. Precondition: 1 to kEntryBlocksMax blocks, none empty.
std::array<uint8_t, kEntryHeadBytes> entry_head(const Digest& key, uint64_t making_us,
                                                std::span<const ByteView> blocks);
uint64_t entry_bytes(std::span<const ByteView> blocks);

// Reads all of `file`. Errors: malformed (another form, another key, sizes that do not fit), unsupported_version,
// data_loss (a checksum).
Result<EntryView> parse_entry(ByteView file, const Digest& key);

}  // namespace coterie
