// One target a message; COTERIE_FUZZ_MESSAGE names its struct. Never a crash, and what decodes encodes again.
#include "tests/support/frame_repair.h"
#include "tests/support/messages.h"

namespace {

using Message = coterie::COTERIE_FUZZ_MESSAGE;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const coterie::ByteView input(data, size);
  coterie::test::decodes_and_reencodes<Message>(input);
  const coterie::Bytes repaired = coterie::test::with_true_sizes(input, coterie::test::MessageTraits<Message>::kKind);
  coterie::test::decodes_and_reencodes<Message>(repaired);
  return 0;
}
