#include "fl_server/tracing/span_exporter.h"

#include <utility>

#include "base/log.h"
#include "base/os/clock.h"

namespace coterie {

SpanExporter::SpanExporter(const std::string& life, TracedService service, TracedStores stores, Send send,
                           Metrics& metrics)
    : service_(std::move(service)),
      send_(std::move(send)),
      metrics_(metrics),
      rounds_(life, std::move(stores)),
      thread_([this] { run(); }) {}

SpanExporter::~SpanExporter() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void SpanExporter::happened(const Event& event) {
  const std::lock_guard lock(mutex_);
  add(rounds_.take(event));
}

void SpanExporter::store_called(const RoundKey& key, std::string_view call, Micros began, Micros took) {
  const std::lock_guard lock(mutex_);
  add(rounds_.take_call(key, {call, began, took}));
}

void SpanExporter::add(std::vector<Span> spans) {
  if (spans.empty()) return;
  queue_.add(std::move(spans));
  metrics_.set_spans(queue_.exported(), queue_.dropped());
  wake_.notify_all();
}

void SpanExporter::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const std::optional<Instant> next = queue_.next();
    const Instant now = os::monotonic_now();
    if (!next) {
      wake_.wait(lock);
      continue;
    }
    if (now < *next) {
      wake_.wait_for(lock, *next - now);
      continue;
    }
    const std::vector<Span> batch = queue_.begin_batch(now);
    lock.unlock();
    const Exported outcome = send(batch);
    lock.lock();
    queue_.done(outcome, os::monotonic_now());
    metrics_.set_spans(queue_.exported(), queue_.dropped());
  }
}

Exported SpanExporter::send(const std::vector<Span>& batch) {
  const Status sent = send_(otlp_json(batch, service_), stopping_);
  const bool may_pass =
      !sent && (sent.error().code() == ErrorCode::unavailable || sent.error().code() == ErrorCode::cancelled);
  if (!sent && !stopping_ && !(may_pass && std::exchange(is_failing_, true))) {
    log(LogLevel::warning, "spans_not_exported",
        {{"reason", sent.error().message()}, {"spans", batch.size()}, {"tried_again", may_pass}});
  }
  if (sent) is_failing_ = false;
  return sent ? Exported::taken : may_pass ? Exported::unavailable : Exported::refused;
}

}  // namespace coterie
