// ModelNews: hears of what changes the models that a server answers with, and wakes whoever follows them.
#pragma once

#include <condition_variable>
#include <mutex>

#include "fl_server/events/event_hub.h"

namespace coterie {

// Stands before the hub that it hears from.
class ModelNews final : public EventSubscriber {
 public:
  void happened(const Event& event) override;
  // Until there is news, or it is closed, at most `patience`. One thread's.
  void wait(Millis patience);
  void close();
  bool is_closed() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool has_news_ = false, is_closed_ = false;  // guarded by mutex_
};

}  // namespace coterie
