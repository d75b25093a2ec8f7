// Any blocks as training data of the data cache: an error, or data that come back as they are. The bytes: how many
// blocks, and for each its size (u32, little-endian) and itself; a size that goes beyond the end is what is left.
#include <algorithm>
#include <memory>
#include <vector>

#include "base/assert.h"
#include "tools/data_cache/entry_file.h"
#include "tools/data_cache/stored_data.h"

namespace {

using namespace coterie;

std::vector<ByteView> blocks_in(ByteView bytes) {
  std::vector<ByteView> blocks;
  if (bytes.empty()) return blocks;
  const size_t count = bytes[0] % (kEntryBlocksMax + 1);
  bytes = bytes.subspan(1);
  while (blocks.size() < count && bytes.size() >= 4) {
    const size_t size = bytes[0] | size_t{bytes[1]} << 8 | size_t{bytes[2]} << 16 | size_t{bytes[3]} << 24;
    bytes = bytes.subspan(4);
    blocks.push_back(bytes.first(std::min(size, bytes.size())));
    bytes = bytes.subspan(blocks.back().size());
  }
  return blocks;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto data_read = data_of(blocks_in({data, size}), std::make_shared<int>());
  if (!data_read) return 0;
  const std::vector<Bytes> written = blocks_of(*data_read);
  if (written.empty()) return 0;
  const std::vector<ByteView> views(written.begin(), written.end());
  const auto again = data_of(views, std::make_shared<int>());
  COT_ASSERT(again.has_value() && is_same(*data_read, *again));
  return 0;
}
