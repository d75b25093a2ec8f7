#include "fl_server/app/model_news.h"

#include <algorithm>
#include <utility>

namespace coterie {

bool ModelNews::is_of_models(std::string_view kind) {
  const std::string_view kinds[] = {event::kind(event::RoundDone{}), event::kind(event::ModelReleased{}),
                                    event::kind(event::JobCreated{})};
  return std::ranges::find(kinds, kind) != std::end(kinds);
}

void ModelNews::happened(const Event& event) {
  if (!is_of_models(event::kind(event.what))) return;
  const std::lock_guard lock(mutex_);
  woken_.has_news = true;
  wake_.notify_all();
}

void ModelNews::mail_came() {
  const std::lock_guard lock(mutex_);
  woken_.has_mail = true;
  wake_.notify_all();
}

void ModelNews::load_ended() {
  const std::lock_guard lock(mutex_);
  woken_.has_load = true;
  wake_.notify_all();
}

ModelNews::Woken ModelNews::wait(Millis patience) {
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, patience,
                 [this] { return woken_.has_news || woken_.has_mail || woken_.has_load || is_closed_; });
  return std::exchange(woken_, {});
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
