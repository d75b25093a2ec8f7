// EventHub: the shell around the event log. Whoever does something that others want to hear of adds an event; log lines
// and metrics hear of it at once, and readers, who may be slow, are woken to look.
//
// Threading: every public method may be called from any thread, but for subscribe().
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "fl_server/events/event_id.h"
#include "fl_server/events/event_log.h"

namespace coterie {

// Hears of each event on the thread that adds it, of those of one thread in their order: must not block, and must not
// add events.
class EventSubscriber {
 public:
  virtual ~EventSubscriber() = default;
  virtual void happened(const Event& event) = 0;
};

class EventHub {
 public:
  // `epoch` names this life of the process (EventId).
  explicit EventHub(std::string epoch, EventLimits limits = {}) : epoch_(std::move(epoch)), log_(limits) {}

  // Before anything is added. `subscriber` outlives whoever adds.
  void subscribe(EventSubscriber& subscriber) { subscribers_.push_back(&subscriber); }

  // From now on events of this job are this tenant's. To be said before the first of them: a tenant is not told of
  // events of a job that nobody has named the tenant of. A name is kept for each job, as long as the process lives.
  void belongs_to(const JobId& job, std::string tenant);
  // It was not created after all: nobody is told of it.
  void forget(const JobId& job);

  void add(const JobId& job, event::What what);
  // An event of the server, not of a job.
  void add(event::What what) { add(JobId(), std::move(what)); }
  // Something has changed that is no event, but that readers look at: a count.
  void changed() { wake(); }

  // The newest event.
  EventId newest() const;
  // As EventLog has it; of another epoch everything was missed.
  EventPage after(const EventId& read, const EventFilter& filter, size_t events_max) const;
  const std::string& epoch() const { return epoch_; }

  // As long as it lives, `wake` is called after each event and change, on any thread; must not block and must not call
  // this class. When the destructor has returned it is not running and will not be called again.
  class Watch {
   public:
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

   private:
    friend class EventHub;
    using Wakes = std::list<std::function<void()>>;
    Watch(EventHub& hub, Wakes::iterator place) : hub_(hub), place_(place) {}
    EventHub& hub_;
    Wakes::iterator place_;
  };
  std::unique_ptr<Watch> watch(std::function<void()> wake);

 private:
  void wake();

  const std::string epoch_;
  std::vector<EventSubscriber*> subscribers_;
  mutable std::mutex log_mutex_;
  EventLog log_;
  std::map<JobId, std::string> tenants_;  // of jobs; log_mutex_ guards it, too
  std::mutex wakes_mutex_;
  Watch::Wakes wakes_;
};

}  // namespace coterie
