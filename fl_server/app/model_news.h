// ModelNews: hears of what changes the models that a server answers with, and wakes whoever follows them.
#pragma once

#include <condition_variable>
#include <mutex>

#include "base/time.h"
#include "fl_server/events/event_hub.h"

namespace coterie {

// Stands before the hub that it hears from.
class ModelNews final : public EventSubscriber {
 public:
  // What has happened since it was waited for last; all may be false: patience is over, or it is closed.
  struct Woken {
    bool has_news = false;  // of models, on this node
    bool has_mail = false;  // from the node that leads: RemoteNews reads whether it is of models
    bool has_load = false;  // a version was loaded, or could not be
  };

  void happened(const Event& event) override;
  void mail_came();
  void load_ended();
  // Until something has happened, or it is closed, at most `patience`. One thread's.
  Woken wait(Millis patience);
  void close();
  bool is_closed() const;

  // Whether what is told under this name (event::kind) changes the models that there are.
  static bool is_of_models(std::string_view kind);

 private:
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  Woken woken_;  // guarded by mutex_, as the next
  bool is_closed_ = false;
};

}  // namespace coterie
