// Any bytes as a packed file: an error, or the same whether they come at once or in pieces.
#include <algorithm>

#include "base/assert.h"
#include "tools/data/unpack.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace coterie;
  constexpr uint64_t kBytesMax = 1 << 20;
  constexpr size_t kPieceBytes = 11;
  const ByteView file(data, size);
  const Packing packing = packing_of(file);
  if (packing == Packing::none) return 0;
  const auto whole = unpack(file, kBytesMax);
  COT_ASSERT(!whole || whole->size() <= kBytesMax);
  const auto unpacker = Unpacker::make(packing, kBytesMax);
  for (size_t at = 0; at < size; at += kPieceBytes) {
    if (!(*unpacker)->add(file.subspan(at, std::min(kPieceBytes, size - at)))) {
      COT_ASSERT(!whole);
      return 0;
    }
  }
  const auto pieces = (*unpacker)->finish();
  COT_ASSERT(pieces.has_value() == whole.has_value() && (!whole || *pieces == *whole));
  return 0;
}
