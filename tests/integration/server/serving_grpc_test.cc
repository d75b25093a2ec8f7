// A server's second door: its rounds' models over gRPC, to whom they are, with the server's certificate.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "open_inference.grpc.pb.h"
#include "tests/integration/support/fixture.h"
#include "tests/integration/support/serving_client.h"

namespace coterie::integration {
namespace {

constexpr size_t kValues = 16;

class ServingServerGrpc : public ServerTest {
 protected:
  void serve() {
    start(R"("serving": {"port": 0, "grpc_port": 0, "workers": 1})");
    place_ = ServingPlace::of(*server_, directory_ / "data");
    ASSERT_FALSE(place_.grpc.empty());
    grpc::SslCredentialsOptions trust;
    trust.pem_root_certs = place_.ca_pem;
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    stub_ = inference::GRPCInferenceService::NewStub(
        grpc::CreateCustomChannel(place_.grpc, grpc::SslCredentials(trust), arguments));
  }
  grpc::Status infer(const std::string& model, const std::string& token, inference::ModelInferResponse& response) {
    inference::ModelInferRequest request;
    request.set_model_name(model);
    auto& input = *request.add_inputs();
    const nlohmann::json described = ServingClient(place_).ask("GET", "/v2/models/" + model).body["inputs"][0];
    input.set_name(described["name"]);
    input.set_datatype(described["datatype"]);
    input.add_shape(1);
    size_t size = 1;
    for (size_t i = 1; i < described["shape"].size(); ++i) {
      input.add_shape(described["shape"][i].get<int64_t>());
      size *= described["shape"][i].get<size_t>();
    }
    for (size_t i = 0; i < size; ++i) input.mutable_contents()->add_fp32_contents(1);
    grpc::ClientContext context;
    context.AddMetadata("authorization", "Bearer " + token);
    return stub_->ModelInfer(&context, request, &response);
  }
  std::string token_of(const std::string& tenant) {
    const auto made =
        admin_->ask("POST", "/admin/v1/tokens", {{"label", tenant}, {"roles", {"application"}}, {"tenant", tenant}});
    EXPECT_TRUE(test::is_ok(made));
    return made ? (*made)["token"].get<std::string>() : std::string();
  }

  ServingPlace place_;
  std::unique_ptr<inference::GRPCInferenceService::Stub> stub_;
};

TEST_F(ServingServerGrpc, AnswersAsRestDoesAndToTheTenantAlone) {
  serve();
  const auto job = admin_->create_job(flat_model(kValues), spec_for(1, 2));
  ASSERT_TRUE(test::is_ok(job));
  ASSERT_TRUE(serves(*server_, *job, 0)) << server_->log();

  ServingClient rest(place_);
  const nlohmann::json expected = rest.ask("POST", "/v2/models/" + *job + "/infer", rest.example_for(*job)).body;
  for (const std::string& token : {place_.token, token_of("default")}) {
    inference::ModelInferResponse response;
    const grpc::Status status = infer(*job, token, response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(response.model_version(), expected["model_version"].get<std::string>());
    const auto& values = response.outputs(0).contents().fp32_contents();
    EXPECT_EQ(std::vector<float>(values.begin(), values.end()),
              expected["outputs"][0]["data"].get<std::vector<float>>());
  }
  inference::ModelInferResponse none;
  EXPECT_EQ(infer(*job, token_of("acme"), none).error_code(), grpc::NOT_FOUND) << "another tenant's does not exist";
  EXPECT_EQ(infer(*job, "cot_guessed", none).error_code(), grpc::UNAUTHENTICATED);
}

}  // namespace
}  // namespace coterie::integration
