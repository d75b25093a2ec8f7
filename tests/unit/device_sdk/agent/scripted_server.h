// ScriptedServer: the device plane of one job in memory, as a Transport: honest and strict, except where a
// test tells it how the next requests go wrong.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "device_sdk/client/transport.h"
#include "proto/messages/plan.h"
#include "proto/messages/update.h"
#include "secure/crypto/signature.h"

namespace coterie::test {

enum class Call { enroll, check_in, plan, model, upload };

class ScriptedServer final : public Transport {
 public:
  // Takes the place of the honest answer to one request.
  using Fault = std::function<Result<TransportResponse>(const TransportRequest& request, const BodySink& sink)>;

  explicit ScriptedServer(Bytes model_file);

  Result<TransportResponse> send(const TransportRequest& request, const BodySink& sink) override;

  // The next calls of this kind go this way, one fault each.
  void fail_next(Call call, Fault fault) { faults_[call].push_back(std::move(fault)); }
  // Each request for this blob goes this way; null: as it should again.
  void fail_always(const Digest& blob, Fault fault) { blob_faults_["/v1/models/" + blob.hex()] = std::move(fault); }
  // From the next round on another key signs. Devices are told of it with each assignment, in the words of `names`; if
  // null: in those of the key until now.
  void replace_key(const Signer* names = nullptr);
  // A new round of the job, from `model_file`.
  void begin_round(Bytes model_file);

  struct Upload {
    UpdateHeader header;
    std::vector<float> values;
    Bytes bytes;
  };
  int calls(Call call) const { return calls_.contains(call) ? calls_.at(call) : 0; }
  const std::vector<Upload>& uploads() const { return uploads_; }
  const std::vector<std::string>& ranges() const { return ranges_; }  // of the model's requests; "" if there was none
  uint64_t model_bytes_sent() const { return model_bytes_sent_; }
  const Assignment& assignment() const { return assignment_; }
  const Bytes& model() const { return model_; }
  const std::vector<Refusal>& refusals() const { return refusals_; }

  Plan plan;                  // changes count from begin_round() on
  Bytes control;              // lies beside the model, named by its digest; plan.control is the test's to set
  std::vector<Bytes> deltas;  // likewise; plan.download is the test's to set
  bool knows_ranges = true;
  WallTime not_after = wall_time_from_unix_ms(4'000'000'000'000);

  // ---- Faults
  static Fault lost();
  static Fault cancelled();
  static Fault answer(int status, Bytes body = {});
  static Fault typed(ErrorCode code);  // as the server writes its errors
  Fault cut_model(uint64_t bytes);     // so many more bytes of the model, then the connection is gone

 private:
  Result<TransportResponse> enroll(const TransportRequest& request, const BodySink& sink);
  Result<TransportResponse> check_in(const TransportRequest& request, const BodySink& sink);
  Result<TransportResponse> send_model(const TransportRequest& request, const BodySink& sink, uint64_t bytes_max);
  Result<TransportResponse> take_upload(const TransportRequest& request, const BodySink& sink);
  void check_signature(const TransportRequest& request) const;

  std::unique_ptr<Signer> signer_;
  std::string key_statements_;
  Bytes device_key_;
  KeyAlgorithm device_algorithm_ = KeyAlgorithm::ed25519;
  Bytes model_;
  Bytes plan_bytes_;
  Assignment assignment_;
  bool round_open_ = false;
  std::map<Call, std::deque<Fault>> faults_;
  std::map<std::string, Fault> blob_faults_;  // by target
  std::map<Call, int> calls_;
  std::vector<Upload> uploads_;
  std::vector<std::string> ranges_;
  uint64_t model_bytes_sent_ = 0;
  std::vector<Refusal> refusals_;
};

}  // namespace coterie::test
