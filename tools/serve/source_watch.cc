#include "tools/serve/source_watch.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stop_token>
#include <utility>

namespace coterie {

Result<std::unique_ptr<SourceWatch>> SourceWatch::make(std::unique_ptr<ModelSource> source,
                                                       std::optional<uint64_t> promoted, Millis every) {
  os::File rings(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd");
  if (!rings.is_open()) return Error(ErrorCode::unavailable, std::string("eventfd: ") + std::strerror(errno));
  return std::unique_ptr<SourceWatch>(new SourceWatch(std::move(source), promoted, every, std::move(rings)));
}

SourceWatch::SourceWatch(std::unique_ptr<ModelSource> source, std::optional<uint64_t> promoted, Millis every,
                         os::File rings)
    : source_(std::move(source)),
      rings_(std::move(rings)),
      thread_([this, promoted, every](const std::stop_token& stop) mutable {
        std::string told;
        while (!stop.stop_requested()) {
          ask(promoted, told);
          std::unique_lock lock(mutex_);
          wake_.wait_for(lock, stop, every, [] { return false; });
        }
      }) {}

void SourceWatch::ask(std::optional<uint64_t>& promoted, std::string& told) {
  Result<std::optional<SourcedVersion>> next = source_->next();
  News news{.version = {}, .promoted = source_->promoted(), .error = {}};
  if (next) {
    told.clear();
    news.version = *std::move(next);
  } else if (next.error().message() != std::exchange(told, next.error().message())) {
    news.error = next.error();
  }
  const bool is_promotion_new = std::exchange(promoted, news.promoted) != news.promoted;
  if (!news.version && !news.error && !is_promotion_new) return;
  {
    const std::lock_guard lock(mutex_);
    news_.push_back(std::move(news));
  }
  const uint64_t one = 1;
  if (::write(rings_.fd(), &one, sizeof one) < 0) {
    // It rings already.
  }
}

std::vector<SourceWatch::News> SourceWatch::take() {
  uint64_t rings = 0;
  if (::read(rings_.fd(), &rings, sizeof rings) < 0) {
    // Nothing has rung.
  }
  const std::lock_guard lock(mutex_);
  return std::exchange(news_, {});
}

}  // namespace coterie
