#include "tools/data_cache/entry_file.h"

#include <algorithm>
#include <string>

#include "base/assert.h"
#include "base/checksum/crc32c.h"

namespace coterie {
namespace {

constexpr std::string_view kMagic = "COTCACHE";
constexpr uint32_t kVersion = 1;
constexpr size_t kVersionAt = 8, kCountAt = 12, kKeyAt = 16, kSizeAt = 48, kMakingAt = 56, kPlacesAt = 64,
                 kChecksumsAt = 128, kZerosAt = 144;

template <typename Unsigned>
void put(std::span<uint8_t> head, size_t at, Unsigned value) {
  for (size_t i = 0; i < sizeof value; ++i) head[at + i] = static_cast<uint8_t>(value >> (8 * i));
}

template <typename Unsigned>
Unsigned get(ByteView head, size_t at) {
  Unsigned value = 0;
  for (size_t i = 0; i < sizeof value; ++i) value |= static_cast<Unsigned>(head[at + i]) << (8 * i);
  return value;
}

bool is_zero(ByteView bytes) {
  return std::ranges::all_of(bytes, [](uint8_t byte) { return byte == 0; });
}

Error bad(const std::string& what) { return Error(ErrorCode::malformed, what); }

Status check_head(ByteView file, const Digest& key) {
  if (file.size() < kEntryHeadBytes) return bad("is shorter than the head of an entry");
  if (!as_text(file).starts_with(kMagic)) return bad("is no entry of a data cache");
  if (const auto version = get<uint32_t>(file, kVersionAt); version != kVersion) {
    return Error(ErrorCode::unsupported_version,
                 "is an entry of version " + std::to_string(version) + ", expected " + std::to_string(kVersion));
  }
  if (crc32c(file.first(kEntryHeadChecksumAt)) != get<uint32_t>(file, kEntryHeadChecksumAt)) {
    return Error(ErrorCode::data_loss, "has a head that fails its checksum");
  }
  if (!std::ranges::equal(file.subspan(kKeyAt, key.bytes.size()), key.bytes)) return bad("is the entry of another key");
  if (get<uint64_t>(file, kSizeAt) != file.size()) {
    return bad("has " + std::to_string(file.size()) + " bytes, expected " +
               std::to_string(get<uint64_t>(file, kSizeAt)));
  }
  const bool is_rest_zero = is_zero(file.subspan(kZerosAt, kEntryHeadChecksumAt - kZerosAt)) &&
                            is_zero(file.subspan(kEntryHeadChecksumAt + 4, kEntryHeadBytes - kEntryHeadChecksumAt - 4));
  return is_rest_zero ? Status() : bad("has bytes in its head where zeros are expected");
}

// The block at place `i`, which begins behind what ended at `end`.
Result<ByteView> block_at(ByteView file, size_t i, uint64_t end) {
  const auto offset = get<uint64_t>(file, kPlacesAt + 16 * i), size = get<uint64_t>(file, kPlacesAt + 16 * i + 8);
  const std::string name = "block " + std::to_string(i);
  // `end` is within the file, so that nothing overflows before the offset is known to be right.
  if (offset != end + entry_padding(end)) return bad(name + " is not behind the one before it");
  if (offset > file.size() || size < 1 || size > file.size() - offset) return bad(name + " is beyond the file's end");
  if (!is_zero(file.subspan(end, offset - end))) return bad(name + " has bytes in front where zeros are expected");
  const ByteView block = file.subspan(offset, size);
  if (crc32c(block) == get<uint32_t>(file, kChecksumsAt + 4 * i)) return block;
  return Error(ErrorCode::data_loss, name + " fails its checksum");
}

}  // namespace

uint64_t entry_bytes(std::span<const ByteView> blocks) {
  uint64_t size = kEntryHeadBytes;
  for (const ByteView block : blocks) size += entry_padding(size) + block.size();
  return size;
}

std::array<uint8_t, kEntryHeadBytes> entry_head(const Digest& key, uint64_t making_us,
                                                std::span<const ByteView> blocks) {
  COT_ASSERT(!blocks.empty() && blocks.size() <= kEntryBlocksMax);
  std::array<uint8_t, kEntryHeadBytes> head{};
  std::ranges::copy(as_bytes(kMagic), head.begin());
  put(head, kVersionAt, kVersion);
  put(head, kCountAt, static_cast<uint32_t>(blocks.size()));
  std::ranges::copy(key.bytes, head.begin() + kKeyAt);
  put(head, kSizeAt, entry_bytes(blocks));
  put(head, kMakingAt, making_us);
  uint64_t end = kEntryHeadBytes;
  for (size_t i = 0; i < blocks.size(); ++i) {
    COT_ASSERT(!blocks[i].empty());
    const uint64_t offset = end + entry_padding(end);
    put(head, kPlacesAt + 16 * i, offset);
    put(head, kPlacesAt + 16 * i + 8, uint64_t{blocks[i].size()});
    put(head, kChecksumsAt + 4 * i, crc32c(blocks[i]));
    end = offset + blocks[i].size();
  }
  put(head, kEntryHeadChecksumAt, crc32c(ByteView(head).first(kEntryHeadChecksumAt)));
  return head;
}

Result<EntryView> parse_entry(ByteView file, const Digest& key) {
  COT_TRY(check_head(file, key));
  const auto count = get<uint32_t>(file, kCountAt);
  if (count < 1 || count > kEntryBlocksMax) {
    return bad("says it has " + std::to_string(count) + " blocks, expected 1 to " + std::to_string(kEntryBlocksMax));
  }
  if (!is_zero(file.subspan(kPlacesAt + 16 * count, 16 * (kEntryBlocksMax - count))) ||
      !is_zero(file.subspan(kChecksumsAt + 4 * count, 4 * (kEntryBlocksMax - count)))) {
    return bad("has more blocks than it says");
  }
  EntryView entry{.making_us = get<uint64_t>(file, kMakingAt), .blocks = {}};
  uint64_t end = kEntryHeadBytes;
  for (size_t i = 0; i < count; ++i) {
    COT_ASSIGN(const ByteView block, block_at(file, i, end));
    end = static_cast<uint64_t>(block.data() - file.data()) + block.size();
    entry.blocks.push_back(block);
  }
  if (end != file.size()) return bad("has bytes behind its last block");
  return entry;
}

}  // namespace coterie
