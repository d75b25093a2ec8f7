// RawDevice: a device without a trainer: enrolls, checks in and uploads whatever the test wants, with real keys over
// real TLS.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device_sdk/agent/device_api.h"
#include "device_sdk/transport/https_client.h"
#include "proto/messages/update.h"

namespace coterie::integration {

class RawDevice {
 public:
  // Makes a fresh key; nothing is sent yet.
  RawDevice(const std::string& url, const std::string& ca_pem, KeyAlgorithm algorithm = KeyAlgorithm::ed25519);
  // Over a way of the test's own; client() is not to be asked for.
  RawDevice(std::unique_ptr<Transport> transport, KeyAlgorithm algorithm);

  Status enroll(const std::string& token);
  const DeviceId& id() const { return id_; }
  const Signer& signer() const { return *signer_; }
  HttpsClient& client() { return *client_; }
  DeviceApi& api() { return api_; }

  // Checks in until there is an assignment; retry windows are followed at once, those of refusals,
  // too; failures up to `failures_max` times.
  Result<Assignment> wait_for_assignment(Millis hold, int failures_max = 0);
  // An update of these values, in answer to this assignment, of `examples` (none: as many as it weighs). Failures come
  // back as they are.
  Outcome<Receipt> upload(const Assignment& assignment, std::span<const float> values, uint32_t weight = 1,
                          std::optional<uint32_t> examples = {});
  // The model's payload as float32, its digest checked.
  Result<std::vector<float>> fetch_weights(const Assignment& assignment);
  // Uploads again and again until the server has decided; gives up after a minute.
  Outcome<Receipt> upload_until_decided(const Assignment& assignment, std::span<const float> values);

 private:
  std::unique_ptr<HttpsClient> client_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<Signer> signer_;
  DeviceApi api_;
  DeviceId id_;
  Population population_;
};

// A connected HTTPS client; asserts on a URL that is wrong.
std::unique_ptr<HttpsClient> connect_to(const std::string& url, const std::string& ca_pem);

}  // namespace coterie::integration
