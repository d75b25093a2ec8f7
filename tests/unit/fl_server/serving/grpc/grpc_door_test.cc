// Calls of a client of the protocol through a port, and what is refused before a message is read.
#include "fl_server/serving/grpc/grpc_door.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <thread>

#include "base/os/file.h"
#include "device_sdk/runtime/model_builder.h"
#include "fl_server/net/bound_port.h"
#include "fl_server/net/peer_address.h"
#include "fl_server/serving/grpc/grpc_status.h"
#include "fl_server/serving/infer_rows.h"
#include "fl_server/serving/model_server.h"
#include "open_inference.grpc.pb.h"
#include "secure/crypto/dev_ca.h"
#include "secure/identity/bearer_token.h"
#include "tests/chaos/socket.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/fl_server/serving/scripted_access.h"
#include "tests/unit/fl_server/serving/steps/steps_world.h"
#include "tests/unit/tools/image_files.h"
#include "tools/model/zoo.h"

namespace coterie {
namespace {

using Stub = inference::GRPCInferenceService::Stub;

constexpr const char* kToken = "cot_of_the_test";
constexpr std::chrono::seconds kPatience{60};  // with a door that does not answer

Bytes model_of(uint64_t seed) { return *make_model(ModelKind::logistic, {8, 8, 1}, 10, seed); }

class GrpcDoorTest : public testing::Test {
 protected:
  void open(GrpcDoorSettings settings = {}, ModelServerSettings served = {.workers = 2, .versions_kept = 1}) {
    server_ = std::make_unique<ModelServer>(std::move(served), metrics_);
    ASSERT_OK(server_->publish("digits", model_of(0), 1));
    settings.version = "test";
    if (settings.access == nullptr) settings.token = token_digest(kToken);
    auto door = GrpcDoor::open(settings, *server_);
    ASSERT_OK(door);
    door_ = *std::move(door);
  }
  void TearDown() override {
    if (door_) door_->stop(Millis(5'000));
    if (server_) server_->stop();
  }

  std::unique_ptr<Stub> stub(
      const std::shared_ptr<grpc::ChannelCredentials>& credentials = grpc::InsecureChannelCredentials()) const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    return inference::GRPCInferenceService::NewStub(
        grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(door_->port()), credentials, arguments));
  }
  static void show(grpc::ClientContext& context, const std::string& token = kToken) {
    context.AddMetadata("authorization", "Bearer " + token);
  }
  static inference::ModelInferRequest request_of(uint64_t rows, bool is_raw = false) {
    inference::ModelInferRequest request;
    request.set_model_name("digits");
    auto& input = *request.add_inputs();
    input.set_name("input");
    input.set_datatype("FP32");
    for (const uint64_t size : {rows, uint64_t{8}, uint64_t{8}, uint64_t{1}})
      input.add_shape(static_cast<int64_t>(size));
    const std::vector<float> values = values_of(rows);
    if (is_raw) request.add_raw_input_contents(values.data(), values.size() * sizeof(float));
    else input.mutable_contents()->mutable_fp32_contents()->Add(values.begin(), values.end());
    return request;
  }
  static std::vector<float> values_of(uint64_t rows) {
    std::vector<float> values(rows * 64);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7 % 17) / 16;
    return values;
  }
  static std::vector<float> right_for(const Bytes& file, uint64_t rows) {
    const auto version = ServedVersion::load(file, 1, {});
    std::vector<float> output(rows * 10);
    const std::vector<float> input = values_of(rows);
    EXPECT_OK((*version)->run(0, {{std::span<const float>(input)}}, rows, output));
    return output;
  }
  grpc::Status ask(const inference::ModelInferRequest& request, inference::ModelInferResponse& response) const {
    grpc::ClientContext context;
    show(context);
    return stub()->ModelInfer(&context, request, &response);
  }

  Metrics metrics_{"test"};
  std::unique_ptr<ModelServer> server_;
  std::unique_ptr<GrpcDoor> door_;
};

TEST_F(GrpcDoorTest, AnswersAreTheModelsInEitherForm) {
  open();
  const std::vector<float> right = right_for(model_of(0), 3);
  inference::ModelInferResponse plain, raw;
  ASSERT_TRUE(ask(request_of(3), plain).ok());
  EXPECT_THAT(plain.outputs(0).contents().fp32_contents(), testing::ElementsAreArray(right));
  EXPECT_EQ(plain.model_version(), "1");
  ASSERT_TRUE(ask(request_of(3, true), raw).ok());
  EXPECT_EQ(raw.raw_output_contents(0),
            std::string(reinterpret_cast<const char*>(right.data()), right.size() * sizeof(float)));
}

// A model of two outputs: described, all answered, and one by its name.
TEST_F(GrpcDoorTest, SeveralOutputsComeInTheModelsOrder) {
  open();
  ModelBuilder build("two", {8, 8, 1}, 1);
  const TensorId features = build.dense(build.flatten(build.input()), 4);
  const auto file = build.finish(build.dense(build.relu(features), 10), std::vector{features});
  ASSERT_OK(file);
  ASSERT_OK(server_->publish("two", *file, 1));
  inference::ModelMetadataRequest of;
  of.set_name("two");
  inference::ModelMetadataResponse described;
  grpc::ClientContext context;
  show(context);
  ASSERT_TRUE(stub()->ModelMetadata(&context, of, &described).ok());
  ASSERT_EQ(described.outputs_size(), 2);
  EXPECT_THAT(described.outputs(1).shape(), testing::ElementsAre(-1, 4));
  const auto version = ServedVersion::load(*file, 1, {});
  std::vector<float> scores(30), own(12);
  const std::vector<float> input = values_of(3);
  ASSERT_OK((*version)->run(0, {{std::span<const float>(input)}}, 3, std::vector<std::span<float>>{scores, own}));
  inference::ModelInferRequest request = request_of(3);
  request.set_model_name("two");
  inference::ModelInferResponse all, raw, one;
  ASSERT_TRUE(ask(request, all).ok());
  ASSERT_EQ(all.outputs_size(), 2);
  EXPECT_EQ(all.outputs(1).name(), described.outputs(1).name());
  EXPECT_THAT(all.outputs(0).contents().fp32_contents(), testing::ElementsAreArray(scores));
  EXPECT_THAT(all.outputs(1).contents().fp32_contents(), testing::ElementsAreArray(own));
  request = request_of(3, true);
  request.set_model_name("two");
  ASSERT_TRUE(ask(request, raw).ok());
  ASSERT_EQ(raw.raw_output_contents_size(), 2);
  EXPECT_EQ(raw.raw_output_contents(1), std::string(reinterpret_cast<const char*>(own.data()), 48));
  request.add_outputs()->set_name(described.outputs(1).name());
  ASSERT_TRUE(ask(request, one).ok());
  EXPECT_THAT(one.raw_output_contents(), testing::ElementsAre(raw.raw_output_contents(1)));
  EXPECT_EQ(one.outputs(0).name(), described.outputs(1).name());
  request.add_outputs()->set_name(described.outputs(1).name());
  EXPECT_EQ(ask(request, one).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

// Pictures as bytes_contents and as raw data, each behind its length; labels come back in the form of the request.
TEST_F(GrpcDoorTest, PicturesComeAsBytes) {
  open();
  const auto steps = test::parse_steps(
      R"({"schema":"coterie.serving_steps.v1","inputs":[{"name":"photo","datatype":"BYTES","shape":[]}],"before":[)"
      R"({"name":"picture","step":"decode_image","from":"photo","channels":1},)"
      R"({"name":"small","step":"resize","from":"picture","height":8,"width":8},)"
      R"({"name":"pixels","step":"scale","from":"small","factor":0.0039}],"model":{"input":"pixels"},"after":[)"
      R"({"name":"best","step":"argmax","from":"dense1","labels":["0","1","2","3","4","5","6","7","8","9"]},)"
      R"({"name":"place","step":"argmax","from":"dense1"}],"outputs":{"label":"best","place":"place"}})");
  ASSERT_OK(steps);
  ASSERT_OK(server_->publish("photos", model_of(0), 1, Standing::latest, kDefaultTenant, *steps));
  const Bytes file = test::png_file({.height = 9, .width = 9, .left = {9}, .right = {200}});
  inference::ModelInferRequest request;
  request.set_model_name("photos");
  auto& input = *request.add_inputs();
  input.set_name("photo");
  input.set_datatype("BYTES");
  input.add_shape(1);
  input.mutable_contents()->add_bytes_contents(file.data(), file.size());
  inference::ModelInferResponse plain, raw;
  const grpc::Status answered = ask(request, plain);
  ASSERT_TRUE(answered.ok()) << answered.error_message();
  EXPECT_EQ(plain.outputs(0).datatype(), "BYTES");
  const std::string label = plain.outputs(0).contents().bytes_contents(0);
  EXPECT_EQ(label, std::to_string(plain.outputs(1).contents().int_contents(0)));
  input.clear_contents();
  Bytes data;
  append_strings(std::vector<std::string>{{file.begin(), file.end()}}, data);
  request.add_raw_input_contents(data.data(), data.size());
  ASSERT_TRUE(ask(request, raw).ok());
  EXPECT_EQ(raw.raw_output_contents(0), std::string("\x01\0\0\0", 4) + label);
  request.set_raw_input_contents(0, data.data(), data.size() - 1);
  EXPECT_EQ(ask(request, raw).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(GrpcDoorTest, SaysWhatItServes) {
  open();
  grpc::ClientContext live, ready, model, metadata, server;
  inference::ServerLiveResponse is_live;
  EXPECT_TRUE(stub()->ServerLive(&live, {}, &is_live).ok());
  EXPECT_TRUE(is_live.live());
  inference::ServerReadyResponse is_ready;
  EXPECT_TRUE(stub()->ServerReady(&ready, {}, &is_ready).ok());
  EXPECT_TRUE(is_ready.ready());
  inference::ServerMetadataResponse what;
  EXPECT_TRUE(stub()->ServerMetadata(&server, {}, &what).ok());
  EXPECT_EQ(what.name(), "coterie");
  show(model);
  inference::ModelReadyRequest asked;
  asked.set_name("digits");
  inference::ModelReadyResponse is_model_ready;
  EXPECT_TRUE(stub()->ModelReady(&model, asked, &is_model_ready).ok());
  EXPECT_TRUE(is_model_ready.ready());
  show(metadata);
  inference::ModelMetadataRequest of;
  of.set_name("digits");
  inference::ModelMetadataResponse described;
  ASSERT_TRUE(stub()->ModelMetadata(&metadata, of, &described).ok());
  EXPECT_THAT(described.inputs(0).shape(), testing::ElementsAre(-1, 8, 8, 1));
  EXPECT_THAT(described.versions(), testing::ElementsAre("1"));
}

TEST_F(GrpcDoorTest, NobodyAsksWithoutTheToken) {
  open();
  inference::ModelInferResponse response;
  grpc::ClientContext none, wrong;
  EXPECT_EQ(stub()->ModelInfer(&none, request_of(1), &response).error_code(), grpc::UNAUTHENTICATED);
  show(wrong, "cot_of_another");
  EXPECT_EQ(stub()->ModelInfer(&wrong, request_of(1), &response).error_code(), grpc::UNAUTHENTICATED);
}

TEST_F(GrpcDoorTest, ATenantAsksItsOwnModels) {
  test::ScriptedAccess access;
  open({.access = &access});
  ASSERT_OK(server_->publish("faces", model_of(1), 1, Standing::latest, "acme"));
  const auto ask_as = [&](const std::string& token, const std::string& model) {
    grpc::ClientContext context;
    show(context, token);
    inference::ModelInferRequest request = request_of(1);
    request.set_model_name(model);
    inference::ModelInferResponse response;
    return stub()->ModelInfer(&context, request, &response).error_code();
  };
  EXPECT_EQ(ask_as("of-acme", "faces"), grpc::OK);
  EXPECT_EQ(ask_as("of-acme", "digits"), grpc::NOT_FOUND) << "another tenant's does not exist";
  EXPECT_EQ(ask_as("of-somebody", "faces"), grpc::NOT_FOUND) << "looked up, and of the tenant `other`";
  EXPECT_EQ(access.asked_from, caller_of(*read_address("127.0.0.1")));
  EXPECT_EQ(ask_as("of-all", "faces"), grpc::OK);
  EXPECT_EQ(ask_as("of-a-viewer", "faces"), grpc::PERMISSION_DENIED);
  EXPECT_EQ(ask_as("wrong", "faces"), grpc::UNAUTHENTICATED);
}

TEST_F(GrpcDoorTest, IsReadyWhenTheServerIs) {
  open();
  server_->set_ready(false);
  inference::ServerReadyResponse response;
  grpc::ClientContext before, after;
  ASSERT_TRUE(stub()->ServerReady(&before, {}, &response).ok());
  EXPECT_FALSE(response.ready());
  server_->set_ready(true);
  ASSERT_TRUE(stub()->ServerReady(&after, {}, &response).ok());
  EXPECT_TRUE(response.ready());
}

TEST_F(GrpcDoorTest, ErrorsHaveCodes) {
  open({.message_bytes_max = 100'000});
  inference::ModelInferResponse response;
  inference::ModelInferRequest request = request_of(1);
  request.set_model_name("letters");
  EXPECT_EQ(ask(request, response).error_code(), grpc::NOT_FOUND);
  request = request_of(1);
  request.set_model_version("4");
  EXPECT_EQ(ask(request, response).error_code(), grpc::NOT_FOUND);
  request = request_of(1);
  request.mutable_inputs(0)->set_shape(1, 9);
  const grpc::Status wrong = ask(request, response);
  EXPECT_EQ(wrong.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_THAT(wrong.error_message(), testing::HasSubstr("input \"input\": shape is [1,9,8,1]"));
  // Refused by its size, before it is received.
  EXPECT_EQ(ask(request_of(1000), response).error_code(), grpc::RESOURCE_EXHAUSTED);
  request = request_of(1);
  (*request.mutable_parameters())["timeout"].set_int64_param(0);
  EXPECT_EQ(ask(request, response).error_code(), grpc::DEADLINE_EXCEEDED);
}

TEST_F(GrpcDoorTest, WhatIsCompressedIsRefused) {
  open();
  grpc::ClientContext context;
  show(context);
  context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  inference::ModelInferResponse response;
  EXPECT_EQ(stub()->ModelInfer(&context, request_of(8), &response).error_code(), grpc::UNIMPLEMENTED);
}

TEST(GrpcStatus, SaysWhetherTheRequestMayComeAgain) {
  EXPECT_EQ(grpc_status_of(Error(ErrorCode::overloaded, "full")).error_code(), grpc::UNAVAILABLE);
  EXPECT_EQ(grpc_status_of(Error(ErrorCode::unavailable, "not here")).error_code(), grpc::UNAVAILABLE);
  EXPECT_EQ(grpc_status_of(Error(ErrorCode::not_found, "no such model")).error_message(), "no such model");
  for (const ErrorTraits& traits : all_error_traits()) {
    const grpc::StatusCode code = grpc_status_of(Error(traits.code, "x")).error_code();
    EXPECT_EQ(code == grpc::INTERNAL, traits.code == ErrorCode::internal) << traits.name;
    EXPECT_NE(code, grpc::OK) << traits.name;
  }
}

TEST_F(GrpcDoorTest, APortThatIsTakenIsAnError) {
  open();
  const auto second = GrpcDoor::open({.port = door_->port()}, *server_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), ErrorCode::unavailable);
}

// A client that writes frames of HTTP/2 by hand: a call whose message has begun, and never ends.
class SlowCall {
 public:
  SlowCall(uint16_t port, const std::string& token) : socket_(std::move(*chaos::connect_to({.port = port}))) {
    std::string frames = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(kSettings, 0, 0, "");
    std::string head = "\x83\x86";  // POST, http
    for (const auto& [name, value] : std::initializer_list<std::pair<std::string, std::string>>{
             {":path", "/inference.GRPCInferenceService/ModelInfer"},
             {":authority", "x"},
             {"content-type", "application/grpc"},
             {"te", "trailers"},
             {"authorization", "Bearer " + token}}) {
      head += std::string(1, '\0') + static_cast<char>(name.size()) + name + static_cast<char>(value.size()) + value;
    }
    frames += frame(kHeaders, kEndOfHead, 1, head) + frame(kData, 0, 1, std::string("\0\0\0\x10\0slow", 9));
    EXPECT_EQ(::send(socket_.fd(), frames.data(), frames.size(), MSG_NOSIGNAL), static_cast<ssize_t>(frames.size()));
  }
  // What comes until the stream is over: frames as they are.
  std::string read_to_reset() const {
    std::string all;
    char piece[4096];
    while (all.find(frame_head(4, kReset, 0, 1)) == std::string::npos) {
      const ssize_t count = ::recv(socket_.fd(), piece, sizeof(piece), 0);
      if (count <= 0) break;
      all.append(piece, static_cast<size_t>(count));
    }
    return all;
  }

 private:
  static constexpr char kData = 0, kHeaders = 1, kReset = 3, kSettings = 4, kEndOfHead = 4;

  static std::string frame_head(size_t bytes, char type, char flags, char stream) {
    return {0, static_cast<char>(bytes >> 8), static_cast<char>(bytes & 255), type, flags, 0, 0, 0, stream};
  }
  static std::string frame(char type, char flags, char stream, const std::string& content) {
    return frame_head(content.size(), type, flags, stream) + content;
  }

  chaos::Socket socket_;
};

TEST_F(GrpcDoorTest, AMessageThatNeverEndsEndsItsCall) {
  open({.message_max = Millis(50)});
  const std::string frames = SlowCall(door_->port(), kToken).read_to_reset();
  EXPECT_THAT(frames, testing::HasSubstr("the message did not come within 50 ms"));
  inference::ModelInferResponse response;
  EXPECT_TRUE(ask(request_of(1), response).ok()) << "others are answered";
}

TEST_F(GrpcDoorTest, NobodysMessageIsNotWaitedFor) {
  open({.message_max = Millis(3'600'000)});
  EXPECT_THAT(SlowCall(door_->port(), "cot_guessed").read_to_reset(), testing::HasSubstr("grpc-status"));
}

// As processes of one master have it, which has bound the port before and listens at none.
TEST_F(GrpcDoorTest, APortIsSharedByThoseThatSayTheyShareIt) {
  const auto port = bind_port("127.0.0.1", 0, PortUse::reserved);
  ASSERT_OK(port);
  open({.port = port->port, .shares_port = true});
  const auto second = GrpcDoor::open({.port = port->port, .shares_port = true}, *server_);
  ASSERT_OK(second);
  inference::ModelInferResponse response;
  EXPECT_TRUE(ask(request_of(1), response).ok());
  EXPECT_FALSE(GrpcDoor::open({.port = port->port}, *server_));
  EXPECT_ERROR(bind_port("127.0.0.1", port->port, PortUse::reserved), ErrorCode::unavailable, "in use");
  (*second)->stop(Millis(0));
}

TEST_F(GrpcDoorTest, TlsShowsTheCertificateOfTheFirstDoor) {
  const WallTime now =
      WallTime(std::chrono::duration_cast<WallTime::duration>(std::chrono::system_clock::now().time_since_epoch()));
  const auto ca = make_dev_ca(now, 10);
  ASSERT_OK(ca);
  const auto leaf = make_server_certificate(*ca, {"127.0.0.1"}, now, 5);
  ASSERT_OK(leaf);
  const test::TemporaryDirectory directory;
  const std::string certificate = directory / "tls.pem", key = directory / "tls.key";
  ASSERT_OK(os::write_file_atomically(certificate, as_bytes(leaf->certificate)));
  ASSERT_OK(os::write_file_atomically(key, as_bytes(leaf->private_key)));
  open({.certificate_file = certificate, .key_file = key});
  grpc::SslCredentialsOptions trust;
  trust.pem_root_certs = ca->certificate;
  grpc::ClientContext good, clear;
  show(good);
  show(clear);
  inference::ModelInferResponse response;
  const grpc::Status status = stub(grpc::SslCredentials(trust))->ModelInfer(&good, request_of(1), &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_FALSE(stub()->ModelInfer(&clear, request_of(1), &response).ok());
}

TEST_F(GrpcDoorTest, HotSwitchesGiveNoWrongAnswer) {
  open();
  constexpr uint64_t kModels = 4, kSwitches = 200, kClients = 2;
  std::vector<Bytes> files;
  std::vector<std::vector<float>> right;
  for (uint64_t seed = 0; seed < kModels; ++seed) {
    files.push_back(model_of(seed));
    right.push_back(right_for(files.back(), kClients + 1));
  }
  // Version 1 is of the first model.
  const auto model_of_version = [&](uint64_t number) { return (number - 1) % kModels; };
  std::atomic<bool> is_over{false};
  std::atomic<uint64_t> answers{0}, wrong{0}, refused{0};
  std::vector<std::thread> clients;
  for (uint64_t c = 1; c <= kClients; ++c) {
    clients.emplace_back([&, c] {
      const auto asker = stub();
      while (!is_over) {
        grpc::ClientContext context;
        show(context);
        context.set_deadline(std::chrono::system_clock::now() + kPatience);
        inference::ModelInferResponse response;
        if (!asker->ModelInfer(&context, request_of(c), &response).ok()) {
          ++refused;
          ++answers;
          continue;
        }
        const auto& seen = response.outputs(0).contents().fp32_contents();
        const std::vector<float>& expected = right[model_of_version(std::stoull(response.model_version()))];
        wrong +=
            !std::equal(seen.begin(), seen.end(), expected.begin(), expected.begin() + static_cast<int64_t>(c) * 10);
        ++answers;
      }
    });
  }
  for (uint64_t number = 2; number <= kSwitches; ++number) {
    const uint64_t before = answers;
    EXPECT_OK(server_->publish("digits", files[model_of_version(number)], number));
    while (answers == before) std::this_thread::yield();
  }
  is_over = true;
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(refused, 0u);
}

}  // namespace
}  // namespace coterie
