// NetworkThreads: from its construction to its destruction connections are accepted and served. What they call is made
// before it, and so goes after it.
#pragma once

#include "fl_server/net/http_server.h"

namespace coterie {

class NetworkThreads {
 public:
  // Every listener is there. `http`, and the services behind it, outlive this.
  explicit NetworkThreads(HttpServer& http) : http_(http) { http_.start(); }
  ~NetworkThreads() { http_.stop(); }
  NetworkThreads(const NetworkThreads&) = delete;
  NetworkThreads& operator=(const NetworkThreads&) = delete;

 private:
  HttpServer& http_;
};

}  // namespace coterie
