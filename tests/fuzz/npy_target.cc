// Any bytes as a NumPy array: an error, or an array of the size that it says.
#include "base/assert.h"
#include "tools/data/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace coterie;
  const auto array = parse_npy({data, size});
  if (!array) return 0;
  uint64_t elements = 1;
  for (const int64_t each : array->shape) elements *= static_cast<uint64_t>(each);
  COT_ASSERT(elements == (array->type == NpyType::uint8 ? array->bytes.size() : array->values.size()));
  if (const auto target = npy_target(*array, {}); target && !target->is_number) COT_ASSERT(npy_labels(*array, *target));
  return 0;
}
