#include "fl_server/app/model_news.h"

#include <variant>

namespace coterie {

void ModelNews::happened(const Event& event) {
  const bool is_news = std::holds_alternative<event::RoundDone>(event.what) ||
                       std::holds_alternative<event::ModelReleased>(event.what) ||
                       std::holds_alternative<event::JobCreated>(event.what);
  if (!is_news) return;
  const std::lock_guard lock(mutex_);
  has_news_ = true;
  wake_.notify_all();
}

void ModelNews::wait(Millis patience) {
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, patience, [this] { return has_news_ || is_closed_; });
  has_news_ = false;
}

void ModelNews::close() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  wake_.notify_all();
}

bool ModelNews::is_closed() const {
  const std::lock_guard lock(mutex_);
  return is_closed_;
}

}  // namespace coterie
