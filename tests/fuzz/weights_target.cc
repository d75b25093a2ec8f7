// One libFuzzer program a format of weights; COTERIE_FUZZ_FORMAT names it.
#include "tests/fuzz/weights_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return coterie::test::weights_target<coterie::model_import::WeightFormat::COTERIE_FUZZ_FORMAT>(data, size);
}
