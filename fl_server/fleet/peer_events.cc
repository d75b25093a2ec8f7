#include "fl_server/fleet/peer_events.h"

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <charconv>

#include "base/os/clock.h"
#include "fl_server/net/bell.h"

namespace coterie {
namespace {

constexpr uint64_t kToldBytesMax = 4 * 1024;
constexpr size_t kNameBytesMax = 256;  // of a job and of a population
constexpr int64_t kHoldMsMax = 30'000;
constexpr Millis kAnswerMargin{30'000};

struct Question {
  JobEventStream::Reader reader;
  Population population;
  Millis hold{0};
};

Result<Question> read_question(const RequestHead& head, ByteView told) {
  const std::string_view job = head.header("coterie-job"), population = head.header("coterie-population");
  const std::string_view hold = head.header("coterie-hold-ms"), read = head.header("last-event-id");
  if (job.empty() || job.size() > kNameBytesMax || population.size() > kNameBytesMax) {
    return Error(ErrorCode::malformed, "Coterie-Job must name a job and Coterie-Population its population");
  }
  int64_t hold_ms = 0;
  const auto [end, error] = std::from_chars(hold.data(), hold.data() + hold.size(), hold_ms);
  if (error != std::errc() || end != hold.data() + hold.size() || hold_ms < 0) {
    return Error(ErrorCode::malformed, "Coterie-Hold-Ms must be a number of milliseconds");
  }
  Question question{.reader = {.job = JobId(std::string(job)),
                               .is_known = head.header("coterie-job-known") == "1",
                               .read = {},
                               .told = std::string(as_text(told))},
                    .population = Population(std::string(population)),
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

Awaitable<Result<std::string>> PeerEvents::answer(Exchange& exchange) {
  const Counted counted(questions_);
  Result<Bytes> told = co_await exchange.read_body(kToldBytesMax);
  if (!told) co_return told.error();
  Result<Question> question = read_question(exchange.head(), *told);
  if (!question) co_return question.error();
  if (counted.number() > kQuestionsMax) {
    co_return Error(ErrorCode::rate_limited, "the other nodes ask for " + std::to_string(kQuestionsMax) +
                                                 " streams of events, the most there may be");
  }
  JobEventStream stream(hub_, question->reader,
                        [this, &question] { return look_(question->reader.job, question->population); });
  const auto executor = co_await asio::this_coro::executor;
  const auto bell = std::make_shared<Bell>(executor);
  stream.when_ready([bell] { bell->ring(); });
  exchange.extend_deadline(question->hold + kAnswerMargin);
  const Instant until = os::monotonic_now() + question->hold;
  for (;;) {
    bell->hush();
    std::optional<std::string> text = stream.next();
    if (!text) co_return std::string();
    if (!text->empty()) co_return std::move(*text);
    const Instant now = os::monotonic_now();
    if (now >= until || exchange.peer_is_gone()) co_return std::string();
    co_await bell->wait(std::chrono::ceil<Millis>(until - now));
  }
}

}  // namespace coterie
