// What a stranger's traceparent becomes: nothing, or a trace that reads back the same from the header we would send.
#include "base/assert.h"
#include "fl_server/net/trace_context.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace coterie;
  const std::string_view text = as_text(ByteView(data, size));
  const std::optional<TraceContext> context = parse_traceparent(text);
  if (!context) return 0;
  COT_ASSERT(size >= 55 && text.find(context->trace_id()) == 3);
  const std::string header = context->header();
  COT_ASSERT(header.size() == 55 && header.starts_with("00-"));
  const std::optional<TraceContext> again = parse_traceparent(header);
  COT_ASSERT(again && *again == *context);
  return 0;
}
