#include "device_sdk/c_api/default_transport.h"

#include "base/os/file.h"
#include "device_sdk/transport/https_client.h"

namespace coterie {

Result<std::unique_ptr<Transport>> make_default_transport(const std::string& url, const std::string& ca_file,
                                                          const std::atomic<bool>& cancelled) {
  HttpsClientSettings settings;
  settings.url = url;
  settings.cancelled = &cancelled;
  if (!ca_file.empty()) {
    COT_ASSIGN(const Bytes pem, os::read_file(ca_file, 1 << 20));
    settings.ca_pem = std::string(as_text(pem));
  }
  COT_ASSIGN(std::unique_ptr<HttpsClient> client, HttpsClient::make(settings));
  return std::unique_ptr<Transport>(std::move(client));
}

}  // namespace coterie
