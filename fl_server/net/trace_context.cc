#include "fl_server/net/trace_context.h"

#include <algorithm>

#include "secure/crypto/random.h"

namespace coterie {
namespace {

constexpr std::string_view kHeader = "traceparent";
constexpr size_t kTextChars = 55;  // "00-" 32 "-" 16 "-" 2
constexpr size_t kTraceAt = 3, kSpanAt = 36, kFlagsAt = 53;
constexpr uint8_t kSampled = 1;

template <size_t N>
bool read_hex(std::string_view text, std::array<uint8_t, N>& into) {
  const Result<Bytes> bytes = from_hex(text.substr(0, 2 * N));  // lower case alone
  if (!bytes || bytes->size() != N) return false;
  std::copy(bytes->begin(), bytes->end(), into.begin());
  return true;
}

template <size_t N>
bool is_zero(const std::array<uint8_t, N>& id) {
  return std::ranges::all_of(id, [](uint8_t byte) { return byte == 0; });
}

// Random ids of one thread. They are no secrets, and a call to the system for each would be a twentieth of a small
// request: one is made for many.
class IdSource {
 public:
  template <size_t N>
  void draw(std::array<uint8_t, N>& id) {
    do {
      if (left_ < N) {
        fill_random(bytes_);
        left_ = bytes_.size();
      }
      std::copy_n(bytes_.end() - static_cast<ptrdiff_t>(left_), N, id.begin());
      left_ -= N;
    } while (is_zero(id));
  }

 private:
  std::array<uint8_t, 1024> bytes_;
  size_t left_ = 0;
};

}  // namespace

std::string TraceContext::header() const {
  return "00-" + to_hex(trace) + "-" + to_hex(span) + (sampled ? "-01" : "-00");
}

std::optional<TraceContext> parse_traceparent(std::string_view text) {
  if (text.size() < kTextChars || text[2] != '-' || text[kSpanAt - 1] != '-' || text[kFlagsAt - 1] != '-') {
    return std::nullopt;
  }
  TraceContext context;
  std::array<uint8_t, 1> version{}, flags{};
  if (!read_hex(text, version) || !read_hex(text.substr(kTraceAt), context.trace) ||
      !read_hex(text.substr(kSpanAt), context.span) || !read_hex(text.substr(kFlagsAt), flags)) {
    return std::nullopt;
  }
  if (version[0] == 0xff || (version[0] == 0 && text.size() != kTextChars)) return std::nullopt;
  if (text.size() > kTextChars && text[kTextChars] != '-') return std::nullopt;
  if (is_zero(context.trace) || is_zero(context.span)) return std::nullopt;
  context.sampled = (flags[0] & kSampled) != 0;
  return context;
}

TraceContext make_trace(const RequestHead* head) {
  std::optional<TraceContext> context;
  if (head != nullptr) {
    const auto count =
        std::ranges::count(head->headers, kHeader, [](const auto& field) { return std::string_view(field.first); });
    if (count == 1) context = parse_traceparent(head->header(kHeader));
  }
  thread_local IdSource ids;
  if (!context) ids.draw(context.emplace().trace);
  ids.draw(context->span);
  return *context;
}

void add_trace(HttpResponse& response, const TraceContext& trace) {
  response.headers.emplace_back(kHeader, trace.header());
  if (response.content_type != kProblemType || response.body.empty()) return;
  // Ours: an object that is not empty, and a newline.
  const std::string member = ",\"trace_id\":\"" + trace.trace_id() + "\"";
  const auto end = std::find(response.body.rbegin(), response.body.rend(), uint8_t{'}'});
  if (end != response.body.rend()) response.body.insert(end.base() - 1, member.begin(), member.end());
}

}  // namespace coterie
