// RemoteNews: what changes the models of a fleet, as the node that leads tells it in a stream of events, whose names
// this reads. One thread's.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "base/result.h"
#include "fl_server/net/event_source.h"

namespace coterie {

class ModelNews;

class RemoteNews {
 public:
  // Begins a stream of what happens from now on. unavailable: nobody leads, or this node does and hears of it anyhow.
  using Open = std::function<Result<std::shared_ptr<EventSource>>()>;

  // `news` hears when something has come, and outlives this.
  RemoteNews(Open open, ModelNews& news) : open_(std::move(open)), news_(news) {}

  // Begins a stream where there is none. Whether it did. What happened before is not told, but that it begins is.
  bool begin();
  // Reads what has come, until nothing is left or the stream ends. Whether it changes models, or may: something was
  // missed, or the stream has begun.
  bool read();

  // Whether a piece of a stream has an event that changes models, or says that some were missed.
  static bool has_news(std::string_view piece);

 private:
  const Open open_;
  ModelNews& news_;
  std::shared_ptr<EventSource> source_;  // null: there is no stream
};

}  // namespace coterie
