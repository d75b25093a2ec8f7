// ImmediateService: what listens behind a port where the head of a request is all of the question, and the answer is at
// hand.
#pragma once

#include <functional>
#include <string_view>

#include "fl_server/net/exchange.h"

namespace coterie {

class ImmediateService final : public HttpService {
 public:
  using Answer = std::function<HttpResponse(const RequestHead& head)>;
  using Refuse = std::function<HttpResponse(const Error& error, int status)>;

  // `route`: of all requests, for metrics and log; static text. `answer` is called on each network thread.
  ImmediateService(std::string_view route, Answer answer, Refuse refuse)
      : route_(route), answer_(std::move(answer)), refuse_(std::move(refuse)) {}

  Awaitable<RoutedResponse> handle(Exchange& exchange) override {
    co_return RoutedResponse{route_, answer_(exchange.head())};
  }
  HttpResponse refuse(const Error& error, int status) override { return refuse_(error, status); }

 private:
  const std::string_view route_;
  const Answer answer_;
  const Refuse refuse_;
};

}  // namespace coterie
