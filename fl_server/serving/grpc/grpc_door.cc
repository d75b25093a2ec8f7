#include "fl_server/serving/grpc/grpc_door.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/security/tls_certificate_provider.h>

#include <algorithm>
#include <chrono>

#include "fl_server/serving/caller_check.h"
#include "fl_server/serving/grpc/grpc_peer.h"
#include "fl_server/serving/grpc/grpc_status.h"
#include "fl_server/serving/grpc/infer_call.h"
#include "fl_server/serving/grpc/infer_message.h"
#include "fl_server/serving/model_server.h"
#include "open_inference.grpc.pb.h"

namespace coterie {
namespace {

using grpc::ByteBuffer;
using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;
using Protocol = inference::GRPCInferenceService;

constexpr int kMetadataBytesMax = 16 * 1024;
constexpr int kStreamsOfConnectionMax = 128;
constexpr size_t kBufferedBytesMax = 256u << 20;  // of all connections' messages
constexpr unsigned kCertificateEverySeconds = 60;
constexpr int kHandshakeMsMax = 10'000;
constexpr int kIdleMsMax = 60'000;  // of a connection without a call
// Whatever a connection does: it is told to end, and ended. Clients of gRPC open the next one without a word.
constexpr int kConnectionMsMax = 30 * 60'000;
constexpr Millis kAnswerMax{2 * 60'000};  // to compute an answer and to send it
constexpr const char* kInferMethod = "/inference.GRPCInferenceService/ModelInfer";

// Each call returns at once; what waits for a worker is answered by the worker.
using Methods = Protocol::WithCallbackMethod_ServerLive<Protocol::WithCallbackMethod_ServerReady<
    Protocol::WithCallbackMethod_ServerMetadata<Protocol::WithCallbackMethod_ModelReady<
        Protocol::WithCallbackMethod_ModelMetadata<Protocol::WithGenericMethod_ModelInfer<Protocol::Service>>>>>>;

ServerUnaryReactor* finish(CallbackServerContext& context) {
  ServerUnaryReactor* const reactor = context.DefaultReactor();
  reactor->Finish(grpc::Status::OK);
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
      : program_version_(settings.version),
        caller_check_(settings.token, settings.access),
        limits_(settings.limits),
        server_(server),
        watch_(settings.message_max) {}

  // ---- Open to all, as the same routes of REST
  ServerUnaryReactor* ServerLive(CallbackServerContext* context, const inference::ServerLiveRequest* /*request*/,
                                 inference::ServerLiveResponse* response) override {
    response->set_live(true);
    return finish(*context);
  }
  ServerUnaryReactor* ServerReady(CallbackServerContext* context, const inference::ServerReadyRequest* /*request*/,
                                  inference::ServerReadyResponse* response) override {
    response->set_ready(server_.is_ready());
    return finish(*context);
  }
  ServerUnaryReactor* ServerMetadata(CallbackServerContext* context,
                                     const inference::ServerMetadataRequest* /*request*/,
                                     inference::ServerMetadataResponse* response) override {
    response->set_name("coterie");
    response->set_version(program_version_);
    return finish(*context);
  }

  // ---- For who may ask
  ServerUnaryReactor* ModelReady(CallbackServerContext* context, const inference::ModelReadyRequest* request,
                                 inference::ModelReadyResponse* response) override {
    return with_caller(context->DefaultReactor(), *context,
                       [=, this](ServerUnaryReactor& call, const std::string& caller) {
                         const auto version = server_.models().find(request->name(), request->version(), caller);
                         if (!version && version.error().code() != ErrorCode::unavailable)
                           return call.Finish(failed(version.error()));
                         response->set_ready(version.has_value());
                         call.Finish(grpc::Status::OK);
                       });
  }
  ServerUnaryReactor* ModelMetadata(CallbackServerContext* context, const inference::ModelMetadataRequest* request,
                                    inference::ModelMetadataResponse* response) override {
    return with_caller(context->DefaultReactor(), *context,
                       [=, this](ServerUnaryReactor& call, const std::string& caller) {
                         const Status described = describe_model(*request, caller, *response);
                         call.Finish(described ? grpc::Status::OK : failed(described.error()));
                       });
  }
  // No byte of a message is read before it is known whose it is.
  InferCall* model_infer(const CallbackServerContext& context) {
    const auto caller = std::make_shared<std::string>();
    auto* const call = new InferCall(watch_, context, [this, caller](InferCall& asked_by) {
      const Status asked = infer(*caller, asked_by);
      if (!asked) asked_by.Finish(failed(asked.error()));
    });
    return with_caller(call, context, [caller](InferCall& known, const std::string& tenant) {
      *caller = tenant;
      known.read_message();
    });
  }

 private:
  // Calls `then(call, tenant)` once it is known who asks, on this thread or another; it finishes the call.
  template <typename Call, typename Then>
  Call* with_caller(Call* call, const CallbackServerContext& context, Then then) {
    const auto& metadata = context.client_metadata();
    const auto found = metadata.find("authorization");
    const std::string_view shown =
        found == metadata.end() ? std::string_view() : std::string_view(found->second.data(), found->second.size());
    auto known = [this, call, then = std::move(then)](const ModelAccess::Answer& caller) {
      if (caller) then(*call, *caller);
      else call->Finish(failed(caller.error()));
    };
    if (const auto recalled = caller_check_.recall(shown)) known(*recalled);
    else caller_check_.verify(shown, caller_of_peer(context.peer()), std::move(known));
    return call;
  }

  // Success: a worker finishes the call.
  Status infer(const std::string& caller, InferCall& call) {
    grpc::Slice bytes;
    if (!call.message().DumpToSingleSlice(&bytes).ok())
      return Error(ErrorCode::malformed, "the bytes are no ModelInferRequest");
    COT_ASSIGN(const inference::ModelInferRequest message, decode_infer_message({bytes.begin(), bytes.size()}));
    COT_ASSIGN(const auto version, server_.models().find(message.model_name(), message.model_version(), caller));
    COT_ASSIGN(InferRequest read, read_infer_message(message, version->client(), limits_));
    if (const auto patience = patience_of(call.context()))
      read.timeout_us = std::min(*patience, read.timeout_us.value_or(UINT64_MAX));
    COT_ASSIGN(InferenceRouter::Routed routed,
               server_.router().route({message.model_name(), message.model_version(), caller}, version, read));
    auto done = [this, &call, model = message.model_name(), id = read.id, rows = read.rows, wanted = read.wanted,
                 is_raw = !read.as_binary.empty()](const Result<InferenceRouter::Computed>& computed) {
      if (!computed) return call.Finish(failed(computed.error()));
      ByteBuffer answer;
      const grpc::Status written = write(*computed, model, id, rows, wanted, is_raw, answer);
      if (written.ok()) call.answer(std::move(answer));
      else call.Finish(written);
    };
    server_.router().answer(std::move(routed), std::move(read), std::move(done));
    return {};
  }

  grpc::Status failed(const Error& error) {
    server_.metrics().request_failed(std::string(error.name()));
    return grpc_status_of(error);
  }

  Status describe_model(const inference::ModelMetadataRequest& request, const std::string& caller,
                        inference::ModelMetadataResponse& response) const {
    COT_ASSIGN(const auto version, server_.models().find(request.name(), request.version(), caller));
    COT_ASSIGN(const ServedModels::Listing listing, server_.models().list(request.name(), caller));
    response.set_name(request.name());
    for (const auto& one : listing.versions) {
      response.add_versions(listing.is_population ? one->digest_text() : one->name());
    }
    response.set_platform("coterie");
    for (const TensorInterface& input : version->client().inputs) describe(input, *response.add_inputs());
    for (const TensorInterface& output : version->client().outputs) describe(output, *response.add_outputs());
    return {};
  }

  static grpc::Status write(const InferenceRouter::Computed& computed, const std::string& model,
                            const std::optional<std::string>& id, uint64_t rows, const std::vector<bool>& wanted,
                            bool is_raw, ByteBuffer& to) {
    InferAnswer answer{.model = model,
                       .version = computed.version->name(),
                       .digest = computed.version->digest_text(),
                       .id = {},
                       .rows = rows,
                       .outputs = answered(computed.version->client().outputs, computed.outputs, wanted, {})};
    if (id) answer.id = *id;
    const inference::ModelInferResponse message = infer_message(answer, is_raw);
    bool is_own = false;
    return grpc::SerializationTraits<inference::ModelInferResponse>::Serialize(message, &to, &is_own);
  }

  const std::string program_version_;
  const CallerCheck caller_check_;
  const InferLimits limits_;
  ModelServer& server_;
  MessageWatch watch_;
};

// What the service leaves to it: calls whose messages it reads itself.
class InferMethod final : public grpc::CallbackGenericService {
 public:
  explicit InferMethod(GrpcService& service) : service_(service) {}
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override {
    if (context->method() != kInferMethod)
      return grpc::CallbackGenericService::CreateReactor(context);  // unimplemented
    return service_.model_infer(*context);
  }

 private:
  GrpcService& service_;
};

class OpenGrpcDoor final : public GrpcDoor {
 public:
  OpenGrpcDoor(const GrpcDoorSettings& settings, ModelServer& server) : service_(settings, server) {}
  ~OpenGrpcDoor() override { stop(Millis(0)); }

  // `wait_max`: of a request for a worker.
  Status listen(const GrpcDoorSettings& settings, Millis wait_max) {
    quiet_libraries();
    const bool is_ipv6 = settings.address.find(':') != std::string::npos;
    const std::string where =
        (is_ipv6 ? "[" + settings.address + "]" : settings.address) + ":" + std::to_string(settings.port);
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort(where, credentials_of(settings), &port);
    builder.RegisterService(&service_);
    builder.RegisterCallbackGenericService(&infer_method_);
    builder.SetMaxReceiveMessageSize(static_cast<int>(std::min<uint64_t>(settings.message_bytes_max, INT32_MAX)));
    builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
    builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
    // Else a port that is taken is an error.
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, settings.shares_port ? 1 : 0);
    builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMetadataBytesMax);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kStreamsOfConnectionMax);
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMsMax);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kIdleMsMax);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, kConnectionMsMax);
    // A call that came just before ends in good order, however long it may take.
    const Millis call_max = settings.message_max + wait_max + kAnswerMax;
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, static_cast<int>(call_max.count()));
    builder.SetResourceQuota(grpc::ResourceQuota("serving").Resize(kBufferedBytesMax));
    server_ = builder.BuildAndStart();
    if (server_ == nullptr || port <= 0) {
      server_.reset();
      return Error(ErrorCode::unavailable,
                   "gRPC cannot listen on " + where + ": the address is none of this machine's, or the port is taken");
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
    using namespace grpc::experimental;
    if (settings.certificate_file.empty()) return grpc::InsecureServerCredentials();
    TlsServerCredentialsOptions options(std::make_shared<FileWatcherCertificateProvider>(
        settings.key_file, settings.certificate_file, kCertificateEverySeconds));
    options.watch_identity_key_cert_pairs();
    options.set_cert_request_type(GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
    return TlsServerCredentials(options);
  }

  GrpcService service_;
  InferMethod infer_method_{service_};
  std::unique_ptr<grpc::Server> server_;
  uint16_t port_ = 0;
};

}  // namespace

Result<std::unique_ptr<GrpcDoor>> GrpcDoor::open(const GrpcDoorSettings& settings, ModelServer& server) {
  auto door = std::make_unique<OpenGrpcDoor>(settings, server);
  COT_TRY(door->listen(settings, server.router().wait_max()));
  return std::unique_ptr<GrpcDoor>(std::move(door));
}

}  // namespace coterie
