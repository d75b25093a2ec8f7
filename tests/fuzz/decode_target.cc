// One libFuzzer program a message; COTERIE_FUZZ_MESSAGE names its struct.
#include "tests/fuzz/decode_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return coterie::test::decode_target<coterie::COTERIE_FUZZ_MESSAGE>(data, size);
}
