#include "tools/micro/client_text.h"

#include <algorithm>

namespace coterie {
namespace micro_text {

const std::string_view kRightAnswers = R"(
static uint32_t right_answers;

/* Whether the label's is the largest output; of equal ones, whether it is the first. */
static uint32_t is_largest(size_t n, const float *y, size_t label) {
  for (size_t i = 0; i < n; ++i) {
    if (y[i] > y[label] || (y[i] == y[label] && i < label)) return 0;
  }
  return 1;
}
)";

}  // namespace micro_text

std::string client_text(MicroClient client) {
  std::ranges::sort(client.spans, {}, &MicroSpan::first);
  const std::string trained = std::to_string(client.trained), &prefix = client.prefix;
  std::string text =
      "\n/* For coterie_tiny.h. */\n\nstatic void forget_all(void) {\n  forget_gradients();\n"
      "  right_answers = 0;\n}\n\n"
      "static uint32_t count_right(void) { return right_answers; }\n\n"
      "static const coterie_tiny_span parameter_spans[] = {\n";
  for (const MicroSpan& span : client.spans) {
    text += "  {" + std::to_string(span.first) + ", " + std::to_string(span.count) + ", " +
            std::to_string(span.place.value_or(0)) + ", " + (span.place ? "NULL" : span.constant) + "},\n";
  }
  const MicroModelFrame& frame = client.frame;
  return text + "};\n\nconst coterie_tiny_model " + prefix + "_model = {\n  " + std::to_string(frame.header_bytes) +
         ", " + std::to_string(frame.seal_at) + "u, UINT64_C(" + std::to_string(frame.header_hash) + "),\n  " +
         std::to_string(frame.payload_values) + "u, parameter_spans, " + std::to_string(client.spans.size()) + ", " +
         trained + ",\n  arena, arena + " + trained + ",\n  " + prefix + "_accumulate, " + prefix +
         "_apply, forget_all, count_right,\n};\n";
}

}  // namespace coterie
