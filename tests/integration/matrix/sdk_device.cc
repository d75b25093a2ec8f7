#include "tests/integration/matrix/sdk_device.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace coterie::integration {
namespace {

uint64_t size_of(void* context) { return static_cast<ExampleSource*>(context)->size(); }

int read_example(void* context, uint64_t index, const coterie_example* example) {
  std::vector<Example::Place> inputs;
  for (size_t i = 0; i < example->input_count; ++i)
    inputs.emplace_back(example->inputs[i].floats, example->inputs[i].count);
  const Example to(inputs, {example->target.floats, example->target.count});
  return static_cast<ExampleSource*>(context)->read(index, to) ? 0 : 1;
}

}  // namespace

SdkDevice::SdkDevice(const SdkDeviceOptions& options, Teacher data)
    : SdkDevice(options, std::make_shared<Teacher>(std::move(data))) {}

SdkDevice::SdkDevice(const SdkDeviceOptions& options, std::shared_ptr<ExampleSource> data)
    : data_(std::move(data)), way_(options.way) {
  coterie_dataset dataset{};
  dataset.struct_size = sizeof dataset;
  dataset.context = data_.get();
  dataset.size = &size_of;
  dataset.read_example = &read_example;
  coterie_policy policy{};
  policy.struct_size = sizeof policy;
  policy.security_level_min = options.level_min;
  policy.accepts_none = 1;  // some jobs of the matrix have no level
  policy.cohort_min = 2;
  // The matrix is about what a job does: its noise is what eight devices can learn under.
  policy.epsilon_round_max = policy.epsilon_total_max = HUGE_VAL;
  policy.accepts_analytics = options.accepts_analytics ? 1 : 0;
  policy.openings_max = UINT32_MAX;  // attempts that fail late are tried again by the same eight
  coterie_options client_options{};
  client_options.struct_size = sizeof client_options;
  client_options.server_url = options.server_url.c_str();
  client_options.ca_file = options.ca_file.c_str();
  client_options.state_dir = options.state_dir.c_str();
  client_options.enrollment_token = options.token.c_str();
  client_options.seed = options.seed;
  client_options.policy = &policy;
  coterie_transport transport{};
  transport.struct_size = sizeof transport;
  transport.context = way_.get();
  transport.send = &SdkDevice::send;
  if (way_) client_options.transport = &transport;
  char error[512] = "";
  EXPECT_EQ(coterie_client_open(&client_options, &dataset, &client_, error, sizeof error), COTERIE_OK) << error;
  if (client_ == nullptr) return;
  thread_ = std::thread([this] { coterie_client_run(client_, 0, &SdkDevice::hear, this); });
}

int SdkDevice::hear(void* self, const coterie_progress* progress) {
  auto& device = *static_cast<SdkDevice*>(self);
  if (progress->step_status != COTERIE_OK)
    device.last_error_ =
        std::string(coterie_activity_name(progress->activity)) + ": " + coterie_client_last_error(device.client_);
  return 0;
}

int SdkDevice::send(void* way, const coterie_http_request* request, coterie_http_reply* reply) {
  TransportRequest sent{.method = request->method,
                        .target = request->target,
                        .content_type = request->content_type == nullptr ? "" : request->content_type,
                        .body = {request->body, request->body_bytes},
                        .answer_max = Millis(request->answer_ms_max)};
  for (size_t i = 0; i < request->header_count; ++i) {
    sent.headers.emplace_back(request->headers[i].name, request->headers[i].value);
  }
  bool is_told = false;
  const auto tell = [&](const TransportResponse& head) {
    if (is_told) return;
    is_told = true;
    coterie_http_reply_status(reply, head.status);
    for (const auto& [name, value] : head.headers) coterie_http_reply_header(reply, name.c_str(), value.c_str());
  };
  const Result<TransportResponse> answer =
      static_cast<Transport*>(way)->send(sent, [&](const TransportResponse& head, ByteView piece) -> Status {
        tell(head);
        if (coterie_http_reply_body(reply, piece.data(), piece.size()) == 0) return {};
        return Error(ErrorCode::cancelled, "the library has had enough of the answer");
      });
  if (!answer) return 1;
  tell(*answer);
  return 0;
}

SdkDevice::~SdkDevice() {
  stop();
  coterie_client_close(&client_);
}

void SdkDevice::stop() {
  coterie_client_cancel(client_);
  if (thread_.joinable()) thread_.join();
}

}  // namespace coterie::integration
