// SdkDevice: the SDK in a thread of its own, as an app has it, through the C interface.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "coterie.h"
#include "device_sdk/client/transport.h"
#include "device_sdk/runtime/example_source.h"
#include "tests/integration/matrix/teacher.h"

namespace coterie::integration {

struct SdkDeviceOptions {
  std::string server_url;
  std::string ca_file;
  std::string state_dir;
  std::string token;
  coterie_security_level level_min = COTERIE_SECURITY_NONE;
  uint64_t seed = 1;
  bool accepts_analytics = false;
  std::shared_ptr<Transport> way = nullptr;  // instead of the library's own
};

// Takes part in whatever rounds come until it is destroyed.
class SdkDevice {
 public:
  SdkDevice(const SdkDeviceOptions& options, Teacher data);
  SdkDevice(const SdkDeviceOptions& options, std::shared_ptr<ExampleSource> data);
  ~SdkDevice();
  SdkDevice(const SdkDevice&) = delete;
  SdkDevice& operator=(const SdkDevice&) = delete;

  // What went wrong last, for the message of a test that fails: only once it is stopped.
  const std::string& last_error() const { return last_error_; }
  void stop();

 private:
  static int hear(void* self, const coterie_progress* progress);

  static int send(void* way, const coterie_http_request* request, coterie_http_reply* reply);

  std::shared_ptr<ExampleSource> data_;
  std::shared_ptr<Transport> way_;
  std::string last_error_;
  coterie_client* client_ = nullptr;
  std::thread thread_;
};

}  // namespace coterie::integration
