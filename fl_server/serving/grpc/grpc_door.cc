#include "fl_server/serving/grpc/grpc_door.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>

#include "fl_server/serving/grpc/grpc_status.h"
#include "fl_server/serving/grpc/infer_message.h"
#include "fl_server/serving/model_server.h"
#include "open_inference.grpc.pb.h"
#include "secure/crypto/secret.h"
#include "secure/identity/bearer_token.h"

namespace coterie {
namespace {

using grpc::ByteBuffer;
using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;
using Protocol = inference::GRPCInferenceService;

constexpr int kMetadataBytesMax = 16 * 1024;
constexpr int kStreamsOfConnectionMax = 128;
constexpr size_t kBufferedBytesMax = 256u << 20;  // of all connections' messages

// Each call returns at once; what waits for a worker is answered by the worker.
using Methods = Protocol::WithCallbackMethod_ServerLive<Protocol::WithCallbackMethod_ServerReady<
    Protocol::WithCallbackMethod_ServerMetadata<Protocol::WithCallbackMethod_ModelReady<
        Protocol::WithCallbackMethod_ModelMetadata<Protocol::WithRawCallbackMethod_ModelInfer<Protocol::Service>>>>>>;

ServerUnaryReactor* finish(CallbackServerContext& context, const grpc::Status& status = grpc::Status::OK) {
  ServerUnaryReactor* const reactor = context.DefaultReactor();
  reactor->Finish(status);
  return reactor;
}

template <typename Message>
void describe(const TensorInterface& tensor, Message& message) {
  message.set_name(tensor.name);
  message.set_datatype(std::string(protocol_name(tensor.type)));
  message.add_shape(-1);
  for (const int64_t size : tensor.shape) message.add_shape(size);
}

// What strangers send is theirs to be told, and no line of ours for each byte of it.
void quiet_libraries() {
  google::protobuf::SetLogHandler(nullptr);
  gpr_set_log_function([](gpr_log_func_args*) {});
}

// How long the caller waits, in microseconds; none: for ever.
std::optional<uint64_t> patience_of(const CallbackServerContext& context) {
  using std::chrono::system_clock;
  const system_clock::time_point deadline = context.deadline();
  if (deadline == system_clock::time_point::max()) return {};
  const auto left = std::chrono::duration_cast<std::chrono::microseconds>(deadline - system_clock::now()).count();
  return static_cast<uint64_t>(std::max<int64_t>(left, 0));
}

class GrpcService final : public Methods {
 public:
  GrpcService(const GrpcDoorSettings& settings, ModelServer& server)
      : program_version_(settings.version), token_(settings.token), limits_(settings.limits), server_(server) {}

  // ---- Open to all, as the same routes of REST
  ServerUnaryReactor* ServerLive(CallbackServerContext* context, const inference::ServerLiveRequest* /*request*/,
                                 inference::ServerLiveResponse* response) override {
    response->set_live(true);
    return finish(*context);
  }
  ServerUnaryReactor* ServerReady(CallbackServerContext* context, const inference::ServerReadyRequest* /*request*/,
                                  inference::ServerReadyResponse* response) override {
    response->set_ready(!server_.models().empty());
    return finish(*context);
  }
  ServerUnaryReactor* ServerMetadata(CallbackServerContext* context,
                                     const inference::ServerMetadataRequest* /*request*/,
                                     inference::ServerMetadataResponse* response) override {
    response->set_name("coterie");
    response->set_version(program_version_);
    return finish(*context);
  }

  // ---- For who shows the token
  ServerUnaryReactor* ModelReady(CallbackServerContext* context, const inference::ModelReadyRequest* request,
                                 inference::ModelReadyResponse* response) override {
    if (const Status known = authenticate(*context); !known) return refuse(*context, known.error());
    const auto version = server_.models().find(request->name(), request->version());
    if (!version && version.error().code() != ErrorCode::unavailable) return refuse(*context, version.error());
    response->set_ready(version.has_value());
    return finish(*context);
  }
  ServerUnaryReactor* ModelMetadata(CallbackServerContext* context, const inference::ModelMetadataRequest* request,
                                    inference::ModelMetadataResponse* response) override {
    if (const Status known = authenticate(*context); !known) return refuse(*context, known.error());
    const Status described = describe_model(*request, *response);
    return described ? finish(*context) : refuse(*context, described.error());
  }
  ServerUnaryReactor* ModelInfer(CallbackServerContext* context, const ByteBuffer* request,
                                 ByteBuffer* response) override {
    if (const Status known = authenticate(*context); !known) return refuse(*context, known.error());
    grpc::Slice bytes;
    if (!request->DumpToSingleSlice(&bytes).ok())
      return refuse(*context, Error(ErrorCode::malformed, "the bytes are no ModelInferRequest"));
    const Result<inference::ModelInferRequest> message = decode_infer_message({bytes.begin(), bytes.size()});
    if (!message) return refuse(*context, message.error());
    const auto found = server_.models().find(message->model_name(), message->model_version());
    if (!found) return refuse(*context, found.error());
    Result<InferRequest> read = read_infer_message(*message, (*found)->interface(), limits_);
    if (!read) return refuse(*context, read.error());
    if (const auto patience = patience_of(*context))
      read->timeout_us = std::min(*patience, read->timeout_us.value_or(UINT64_MAX));
    ServerUnaryReactor* const reactor = context->DefaultReactor();
    const InferenceRouter::Question question{message->model_name(), message->model_version(), kEveryTenant};
    auto done = [this, reactor, response, model = message->model_name(), id = read->id, rows = read->rows,
                 is_raw = read->wants_binary](const Result<InferenceRouter::Computed>& computed) {
      reactor->Finish(computed ? write(*computed, model, id, rows, is_raw, *response) : failed(computed.error()));
    };
    server_.router().answer(question, *found, *std::move(read), std::move(done));
    return reactor;
  }

 private:
  grpc::Status failed(const Error& error) {
    server_.metrics().request_failed(std::string(error.name()));
    return grpc_status_of(error);
  }
  ServerUnaryReactor* refuse(CallbackServerContext& context, const Error& error) {
    return finish(context, failed(error));
  }

  Status authenticate(const CallbackServerContext& context) const {
    if (!token_) return {};
    const auto& metadata = context.client_metadata();
    const auto found = metadata.find("authorization");
    if (found == metadata.end()) return bearer_token_needed();
    const std::optional<std::string_view> shown = bearer_token({found->second.data(), found->second.size()});
    if (!shown || !equal_in_constant_time(token_digest(*shown).bytes, token_->bytes)) return bearer_token_needed();
    return {};
  }

  Status describe_model(const inference::ModelMetadataRequest& request,
                        inference::ModelMetadataResponse& response) const {
    COT_ASSIGN(const auto version, server_.models().find(request.name(), request.version()));
    COT_ASSIGN(const ServedModels::Listing listing, server_.models().list(request.name()));
    response.set_name(request.name());
    for (const auto& one : listing.versions) {
      response.add_versions(listing.is_population ? one->digest_text() : one->name());
    }
    response.set_platform("coterie");
    for (const TensorInterface& input : version->interface().inputs) describe(input, *response.add_inputs());
    describe(version->interface().output, *response.add_outputs());
    return {};
  }

  static grpc::Status write(const InferenceRouter::Computed& computed, const std::string& model,
                            const std::optional<std::string>& id, uint64_t rows, bool is_raw, ByteBuffer& to) {
    InferAnswer answer{.model = model,
                       .version = computed.version->name(),
                       .digest = computed.version->digest_text(),
                       .id = {},
                       .output = computed.version->interface().output,
                       .rows = rows,
                       .values = computed.values};
    if (id) answer.id = *id;
    const inference::ModelInferResponse message = infer_message(answer, is_raw);
    bool is_own = false;
    return grpc::SerializationTraits<inference::ModelInferResponse>::Serialize(message, &to, &is_own);
  }

  const std::string program_version_;
  const std::optional<Digest> token_;
  const InferLimits limits_;
  ModelServer& server_;
};

class OpenGrpcDoor final : public GrpcDoor {
 public:
  OpenGrpcDoor(const GrpcDoorSettings& settings, ModelServer& server) : service_(settings, server) {}
  ~OpenGrpcDoor() override { stop(Millis(0)); }

  Status listen(const GrpcDoorSettings& settings) {
    quiet_libraries();
    const bool is_ipv6 = settings.address.find(':') != std::string::npos;
    const std::string where =
        (is_ipv6 ? "[" + settings.address + "]" : settings.address) + ":" + std::to_string(settings.port);
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort(where, credentials_of(settings), &port);
    builder.RegisterService(&service_);
    builder.SetMaxReceiveMessageSize(static_cast<int>(std::min<uint64_t>(settings.message_bytes_max, INT32_MAX)));
    builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
    builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // a port that is taken is an error
    builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMetadataBytesMax);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kStreamsOfConnectionMax);
    builder.SetResourceQuota(grpc::ResourceQuota("serving").Resize(kBufferedBytesMax));
    server_ = builder.BuildAndStart();
    if (server_ == nullptr || port <= 0) {
      server_.reset();
      return Error(ErrorCode::unavailable,
                   "gRPC cannot listen on " + where + ": the port is taken, or certificate and key are no pair");
    }
    port_ = static_cast<uint16_t>(port);
    return {};
  }

  uint16_t port() const override { return port_; }
  void stop(Millis patience) override {
    if (server_ == nullptr) return;
    server_->Shutdown(std::chrono::system_clock::now() + patience);
    server_->Wait();
    server_.reset();
  }

 private:
  static std::shared_ptr<grpc::ServerCredentials> credentials_of(const GrpcDoorSettings& settings) {
    if (settings.certificate_pem.empty()) return grpc::InsecureServerCredentials();
    grpc::SslServerCredentialsOptions options(GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
    options.pem_key_cert_pairs.push_back({settings.key_pem, settings.certificate_pem});
    return grpc::SslServerCredentials(options);
  }

  GrpcService service_;
  std::unique_ptr<grpc::Server> server_;
  uint16_t port_ = 0;
};

}  // namespace

Result<std::unique_ptr<GrpcDoor>> GrpcDoor::open(const GrpcDoorSettings& settings, ModelServer& server) {
  auto door = std::make_unique<OpenGrpcDoor>(settings, server);
  COT_TRY(door->listen(settings));
  return std::unique_ptr<GrpcDoor>(std::move(door));
}

}  // namespace coterie
