// Any bytes as an entry of the data cache, under the name that they say: an error, or blocks that lie in them.
#include <algorithm>

#include "base/assert.h"
#include "tools/data_cache/entry_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace coterie;
  constexpr size_t kKeyAt = 16;
  const ByteView file(data, size);
  Digest key{};
  if (size >= kKeyAt + key.bytes.size()) std::ranges::copy(file.subspan(kKeyAt, key.bytes.size()), key.bytes.begin());
  const auto entry = parse_entry(file, key);
  if (!entry) return 0;
  COT_ASSERT(!entry->blocks.empty() && entry->blocks.size() <= kEntryBlocksMax);
  for (const ByteView block : entry->blocks) {
    COT_ASSERT(!block.empty() && block.data() >= file.data() && block.data() + block.size() <= file.data() + size);
  }
  COT_ASSERT(entry_bytes(entry->blocks) == size);
  return 0;
}
