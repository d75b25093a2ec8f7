#include "fl_server/fleet/peer_events.h"

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <charconv>

#include "base/os/clock.h"
#include "fl_server/events/job_event_stream.h"
#include "fl_server/events/tenant_event_stream.h"
#include "fl_server/net/bell.h"
#include "fl_server/records/tenant.h"

namespace coterie {
namespace {

constexpr uint64_t kToldBytesMax = 4 * 1024;
constexpr size_t kNameBytesMax = 256;  // of a job and of a population
constexpr int64_t kHoldMsMax = 30'000;
constexpr Millis kAnswerMargin{30'000};

struct Question {
  EventReader reader;
  Millis hold{0};
};

// The job or the tenant that the events asked for belong to.
Result<std::variant<OfJob, OfTenant>> read_subject(const RequestHead& head) {
  using Subject = std::variant<OfJob, OfTenant>;
  const std::string_view job = head.header("coterie-job"), population = head.header("coterie-population"),
                         tenant = head.header("coterie-tenant");
  if (job.empty() && (tenant == kEveryTenant || is_tenant_name(tenant))) return Subject(OfTenant{std::string(tenant)});
  if (job.empty() || !tenant.empty() || job.size() > kNameBytesMax || population.size() > kNameBytesMax) {
    return Error(ErrorCode::malformed,
                 "Coterie-Job must name a job and Coterie-Population its population, or Coterie-Tenant a tenant");
  }
  return Subject(OfJob{.job = JobId(std::string(job)),
                       .population = Population(std::string(population)),
                       .is_known = head.header("coterie-job-known") == "1"});
}

Result<Question> read_question(const RequestHead& head, ByteView told) {
  const std::string_view hold = head.header("coterie-hold-ms"), read = head.header("last-event-id");
  COT_ASSIGN(auto subject, read_subject(head));
  int64_t hold_ms = 0;
  const auto [end, error] = std::from_chars(hold.data(), hold.data() + hold.size(), hold_ms);
  if (error != std::errc() || end != hold.data() + hold.size() || hold_ms < 0) {
    return Error(ErrorCode::malformed, "Coterie-Hold-Ms must be a number of milliseconds");
  }
  Question question{.reader = {.of = std::move(subject), .read = {}, .told = std::string(as_text(told))},
                    .hold = Millis(std::min(hold_ms, kHoldMsMax))};
  if (!read.empty()) {
    COT_ASSIGN(EventId id, EventId::parse(read));
    question.reader.read = std::move(id);
  }
  return question;
}

// Counts one up while it lives.
class Counted {
 public:
  explicit Counted(std::shared_ptr<std::atomic<uint32_t>> count) : count_(std::move(count)), number_(++*count_) {}
  ~Counted() { --*count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  uint32_t number() const { return number_; }

 private:
  const std::shared_ptr<std::atomic<uint32_t>> count_;
  const uint32_t number_;
};

}  // namespace

std::unique_ptr<EventSource> PeerEvents::stream_of(EventReader reader) {
  const auto* of = std::get_if<OfJob>(&reader.of);
  if (of == nullptr) return std::make_unique<TenantEventStream>(hub_, std::move(reader));
  const auto look = [this, job = of->job, population = of->population] { return look_(job, population); };
  return std::make_unique<JobEventStream>(hub_, std::move(reader), look);
}

Awaitable<Result<std::string>> PeerEvents::answer(Exchange& exchange) {
  // Counted from here on: questions whose bodies are still on their way count, too.
  const Counted counted(questions_);
  Result<RequestBody> told = co_await exchange.read_body(kToldBytesMax);
  if (!told) co_return told.error();
  Result<Question> question = read_question(exchange.head(), told->bytes);
  if (!question) co_return question.error();
  if (counted.number() > kQuestionsMax) {
    co_return Error(ErrorCode::rate_limited, "the other nodes ask for " + std::to_string(kQuestionsMax) +
                                                 " streams of events, the most there may be");
  }
  const std::unique_ptr<EventSource> stream = stream_of(std::move(question->reader));
  const auto executor = co_await asio::this_coro::executor;
  const auto bell = std::make_shared<Bell>(executor);
  stream->when_ready([bell] { bell->ring(); });
  exchange.extend_deadline(question->hold + kAnswerMargin);
  const Instant until = os::monotonic_now() + question->hold;
  for (;;) {
    // Before the stream is asked: what happens after the question rings again, and is not slept through.
    bell->hush();
    std::optional<std::string> text = stream->next();
    if (!text) co_return std::string();
    if (!text->empty()) co_return std::move(*text);
    if (stream->has_more()) continue;  // events of others were passed over
    const Instant now = os::monotonic_now();
    if (now >= until || exchange.peer_is_gone()) co_return std::string();
    co_await bell->wait(std::chrono::ceil<Millis>(until - now));
  }
}

}  // namespace coterie
