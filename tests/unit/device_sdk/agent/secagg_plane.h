// SecaggPlane: the device plane of one round with secure aggregation in memory, for several devices:
// secagg::Server behind the routes of docs/PROTOCOL.md. A phase ends when the test says so. Each device is
// assigned once.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device_sdk/client/transport.h"
#include "proto/messages/plan.h"
#include "secure/crypto/signature.h"
#include "secure/secagg/server.h"

namespace coterie::test {

// A device's requests of a session, in their order.
enum class Exchange {
  advert,
  roster,
  choice,
  shares,
  inbox,
  input,
  confirm_request,
  confirmation,
  unmask_request,
  unmasking
};
inline constexpr Exchange kExchanges[] = {Exchange::advert,       Exchange::roster,         Exchange::shares,
                                          Exchange::inbox,        Exchange::input,          Exchange::confirm_request,
                                          Exchange::confirmation, Exchange::unmask_request, Exchange::unmasking};

class SecaggPlane {
 public:
  using Phase = secagg::Server::Phase;
  // Takes the place of the honest answer to one request; `honest` gives it, after the server has acted.
  using Fault = std::function<Result<TransportResponse>(const std::function<Result<TransportResponse>()>& honest,
                                                        const BodySink& sink)>;

  SecaggPlane(SecurityLevel level, Bytes model_file, uint32_t devices, const StalenessRules& staleness = {});

  Transport& transport(uint32_t who) { return *ports_[who]; }
  const Plan& plan() const { return plan_; }
  const Assignment& assignment() const { return assignment_; }
  Assignment assignment_of(uint32_t who) const;
  const secagg::SessionParameters& parameters() const { return parameters_; }
  secagg::Server& server() { return *server_; }

  // The phase under way is over; the server's error, if there can be no sum.
  Status close();
  bool is_over() const { return is_over_; }
  void end() { is_over_ = true; }  // every question is answered with round_closed

  void fail_next(uint32_t who, Exchange exchange, Fault fault) { faults_[{who, exchange}].push_back(std::move(fault)); }
  // From this exchange on the device is heard no more.
  void vanish(uint32_t who, Exchange exchange) { vanishes_[who] = exchange; }
  bool has_vanished(uint32_t who) const { return vanished_.contains(who); }
  // In the place of the one in this device's advert.
  void shows_certificate(uint32_t who, Bytes certificate) { certificates_[who] = std::move(certificate); }
  // This device may join once more.
  void assigns_again(uint32_t who) { was_assigned_[who] = false; }
  // Before anything came.
  void check_certificates(secagg::CertificateCheck check);

  int calls(Exchange exchange) const { return calls_.contains(exchange) ? calls_.at(exchange) : 0; }
  int news() const { return news_; }  // messages of devices that the server had not had before
  const std::vector<Bytes>& sent(uint32_t who, Exchange exchange) {
    return sent_[{who, exchange}];
  }                                         // bodies, repeated ones too
  std::vector<uint32_t> survivors() const;  // by who
  // The lanes of the unmasked sum, the weight's behind the values', without check lanes.
  Result<std::vector<uint64_t>> sum();

  static Fault typed(ErrorCode code);
  static Fault lost();         // on the way: the server never saw it
  static Fault lost_answer();  // the server has acted
  static Fault garbage();      // in the place of the answer

 private:
  struct Port final : Transport {
    Port(SecaggPlane& plane, uint32_t who) : plane(plane), who(who) {}
    Result<TransportResponse> send(const TransportRequest& request, const BodySink& sink) override;
    SecaggPlane& plane;
    uint32_t who;
  };

  Result<TransportResponse> answer(uint32_t who, const TransportRequest& request, const BodySink& sink);
  Result<Bytes> tell(uint32_t who, ByteView message);
  Result<Bytes> ask(uint32_t who, std::string_view what);
  Result<Bytes> take_input(uint32_t who, ByteView frame);
  std::optional<Exchange> exchange_of(const TransportRequest& request) const;
  std::optional<uint32_t> place(uint32_t who) const;

  Plan plan_;
  Bytes plan_bytes_, model_;
  std::unique_ptr<Signer> signer_;
  Assignment assignment_;
  secagg::SessionParameters parameters_;
  std::optional<secagg::Server> server_;
  std::vector<std::unique_ptr<Port>> ports_;
  std::map<uint32_t, Bytes> keys_;  // public, by who
  std::map<uint32_t, Bytes> certificates_;
  std::map<std::pair<uint32_t, Exchange>, std::deque<Fault>> faults_;
  std::map<std::pair<uint32_t, Exchange>, std::vector<Bytes>> sent_;
  std::map<uint32_t, Exchange> vanishes_;
  std::map<uint32_t, bool> vanished_, was_assigned_;
  std::map<Exchange, int> calls_;
  std::vector<uint64_t> masked_sum_;
  int news_ = 0;
  bool is_over_ = false;
};

}  // namespace coterie::test
