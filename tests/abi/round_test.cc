// Whole rounds through the C interface over the app's own transport, and data sets that fail in every way.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <stdexcept>

#include "base/os/file.h"
#include "coterie_train.h"
#include "device_sdk/runtime/dataset_source.h"
#include "device_sdk/runtime/model.h"
#include "proto/messages/trained_values.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/device_sdk/agent/scripted_server.h"
#include "tools/model/zoo.h"

namespace coterie::test {
namespace {

// The host's side: what C callbacks reach through their contexts.
struct Host {
  ScriptedServer server{*make_model(ModelKind::mlp, {4, 4, 1}, 3, 1)};
  uint64_t size = 20;
  std::function<int(uint64_t index, std::span<float> features, int32_t& label)> read =
      [](uint64_t index, std::span<float> features, int32_t& label) {
        std::fill(features.begin(), features.end(), static_cast<float>(index) / 20);
        label = static_cast<int32_t>(index % 3);
        return 0;
      };
};

uint64_t size_of(void* context) { return static_cast<Host*>(context)->size; }

int read_example(void* context, uint64_t index, float* features, size_t count, int32_t* label) {
  return static_cast<Host*>(context)->read(index, {features, count}, *label);
}

int send_to_server(void* context, const coterie_http_request* request, coterie_http_reply* reply) {
  TransportRequest to_send{.method = request->method,
                           .target = request->target,
                           .headers = {},
                           .content_type = request->content_type == nullptr ? "" : request->content_type,
                           .body = {request->body, request->body_bytes},
                           .answer_max = Millis(request->answer_ms_max)};
  for (size_t i = 0; i < request->header_count; ++i) {
    to_send.headers.emplace_back(request->headers[i].name, request->headers[i].value);
  }
  const auto pass_on = [reply](const TransportResponse& head, ByteView piece) -> Status {
    coterie_http_reply_status(reply, head.status);
    if (coterie_http_reply_body(reply, piece.data(), piece.size()) == 0) return {};
    return Error(ErrorCode::unavailable, "given up");
  };
  const auto head = static_cast<Host*>(context)->server.send(to_send, pass_on);
  if (!head) return 1;
  coterie_http_reply_status(reply, head->status);
  return 0;
}

class AbiRound : public testing::Test {
 protected:
  ~AbiRound() override { coterie_client_close(&client_); }

  void open(const coterie_dataset* dataset = nullptr) {
    coterie_dataset own{};
    own.struct_size = sizeof own;
    own.context = &host_;
    own.size = &size_of;
    own.read = &read_example;
    coterie_transport transport{sizeof transport, &host_, &send_to_server};
    const std::string state = directory_ / "state";
    coterie_options options{};
    options.struct_size = sizeof options;
    options.state_dir = state.c_str();
    options.enrollment_token = "token";
    options.seed = 3;
    options.transport = &transport;
    coterie_policy policy{};  // the scripted server's plans have no level
    policy.struct_size = sizeof policy;
    policy.accepts_none = accepts_none_;
    options.policy = &policy;
    char error[256];
    ASSERT_EQ(coterie_client_open(&options, dataset == nullptr ? &own : dataset, &client_, error, sizeof error),
              COTERIE_OK)
        << error;
  }

  // Steps until the round was trained, well or not.
  coterie_progress train() {
    coterie_progress progress{};
    progress.struct_size = sizeof progress;
    for (int i = 0; i < 20 && progress.activity != COTERIE_ACTIVITY_TRAINED; ++i) {
      status_ = coterie_client_step(client_, &progress);
      if (status_ != COTERIE_OK) break;
    }
    return progress;
  }
  std::string error() const { return coterie_client_last_error(client_); }

  uint32_t accepts_none_ = 1;
  TemporaryDirectory directory_{memory_disk()};
  Host host_;
  coterie_client* client_ = nullptr;
  coterie_status status_ = COTERIE_OK;
};

TEST_F(AbiRound, RunsUntilOneUpdateIsAccepted) {
  open();
  std::vector<int> activities;
  const auto note = [](void* context, const coterie_progress* progress) {
    static_cast<std::vector<int>*>(context)->push_back(progress->activity);
    return 0;
  };
  EXPECT_EQ(coterie_client_run(client_, 1, note, &activities), COTERIE_OK);
  EXPECT_EQ(activities,
            (std::vector<int>{COTERIE_ACTIVITY_ENROLLED, COTERIE_ACTIVITY_CHECKED_IN, COTERIE_ACTIVITY_FETCHED_PLAN,
                              COTERIE_ACTIVITY_FETCHED_MODEL, COTERIE_ACTIVITY_TRAINED, COTERIE_ACTIVITY_UPLOADED}));
  ASSERT_EQ(host_.server.uploads().size(), 1u);
  EXPECT_EQ(host_.server.uploads()[0].header.examples, 20u);
  EXPECT_EQ(error(), "");
}

TEST_F(AbiRound, AnAppThatSaysNothingTakesNoPartWithoutALevel) {
  accepts_none_ = 0;
  open();
  coterie_progress progress{};
  progress.struct_size = sizeof progress;
  for (int i = 0; i < 20 && progress.activity != COTERIE_ACTIVITY_FETCHED_PLAN; ++i) {
    ASSERT_EQ(coterie_client_step(client_, &progress), COTERIE_OK);
  }
  EXPECT_EQ(progress.step_status, COTERIE_REFUSED);
  EXPECT_NE(error().find("promises security level none, this device asks for active"), std::string::npos) << error();
  EXPECT_TRUE(host_.server.uploads().empty());
}

TEST_F(AbiRound, TellsHowTrainingGoes) {
  open();
  const coterie_progress progress = train();
  EXPECT_EQ(progress.step_status, COTERIE_OK);
  EXPECT_EQ(progress.training_examples, 20u);
  EXPECT_EQ(progress.training_steps, 3u);
  EXPECT_GT(progress.training_loss, 0.5);
  EXPECT_LT(progress.training_loss, 10);
}

// The second layer is the device's own: in the update it has no place, in the app's hands it has.
TEST_F(AbiRound, HandsTheAppTheModelOfTheDevicesOwn) {
  const Bytes file = *make_model(ModelKind::mlp, {4, 4, 1}, 3, 1);
  const Model published = *Model::load(file);
  Plan& plan = host_.server.plan;
  plan.training.personal = PersonalSettings{.parameters = {"dense2.*"}};
  plan.update.whole_value_count = published.value_count();
  plan.update.value_count = *trained_value_count(published.graph(), plan.training);
  host_.server.begin_round(file);
  open();
  coterie_model *model = nullptr, *personal = nullptr;
  ASSERT_EQ(coterie_model_open_bytes(file.data(), file.size(), &model, nullptr, 0), COTERIE_OK);
  const char* const job = plan.job.value().c_str();
  EXPECT_EQ(coterie_client_personal_model(client_, job, model, &personal), COTERIE_NOT_FOUND);
  EXPECT_NE(error().find("keeps nothing to itself"), std::string::npos) << error();
  ASSERT_EQ(coterie_client_run(client_, 1, nullptr, nullptr), COTERIE_OK);
  ASSERT_EQ(coterie_client_personal_model(client_, job, model, &personal), COTERIE_OK) << error();
  const auto values = [](coterie_model* of, const char* name, size_t count) {
    std::vector<float> read(count);
    EXPECT_EQ(coterie_model_get_parameter(of, name, read.data(), count), COTERIE_OK);
    return read;
  };
  EXPECT_NE(values(personal, "dense2.bias", 3), values(model, "dense2.bias", 3));
  EXPECT_EQ(values(personal, "dense1.bias", 64), values(model, "dense1.bias", 64));
  coterie_model_close(&personal);
  EXPECT_EQ(coterie_client_personal_model(client_, "other", model, &personal), COTERIE_NOT_FOUND);
  EXPECT_EQ(personal, nullptr);
  EXPECT_EQ(coterie_client_personal_model(client_, nullptr, model, &personal), COTERIE_INVALID_ARGUMENT);
  EXPECT_EQ(coterie_client_personal_model(client_, job, nullptr, &personal), COTERIE_INVALID_ARGUMENT);
  EXPECT_EQ(coterie_client_personal_model(client_, job, model, nullptr), COTERIE_INVALID_ARGUMENT);
  EXPECT_EQ(coterie_client_personal_model(nullptr, job, model, &personal), COTERIE_INVALID_ARGUMENT);
  coterie_model_close(&model);
}

TEST_F(AbiRound, ADataSetFileTrainsAsItIs) {
  const DatasetHeader header = labelled_dataset("file", 20, {4, 4, 1}, 3);
  std::vector<float> features(20 * 16);
  std::vector<int32_t> labels(20);
  for (uint64_t i = 0; i < 20; ++i) host_.read(i, std::span(features).subspan(i * 16, 16), labels[i]);
  const std::string path = directory_ / "data.cotf";
  ASSERT_OK(os::write_file_atomically(path, encode_dataset(header, features, labels)));
  coterie_dataset dataset{};
  dataset.struct_size = sizeof dataset;
  char text[256];
  ASSERT_EQ(coterie_dataset_open(path.c_str(), &dataset, text, sizeof text), COTERIE_OK) << text;
  EXPECT_EQ(text[0], 0);
  EXPECT_EQ(dataset.size(dataset.context), 20u);
  open(&dataset);
  EXPECT_EQ(coterie_client_run(client_, 1, nullptr, nullptr), COTERIE_OK) << error();
  coterie_client_close(&client_);
  coterie_dataset_close(&dataset);
  EXPECT_EQ(dataset.context, nullptr);
  coterie_dataset_close(&dataset);

  std::filesystem::remove_all(directory_ / "state");
  const std::vector<float> from_file = host_.server.uploads().at(0).values;
  host_.server = ScriptedServer(host_.server.model());
  open();
  EXPECT_EQ(coterie_client_run(client_, 1, nullptr, nullptr), COTERIE_OK) << error();
  EXPECT_EQ(host_.server.uploads().at(0).values, from_file) << "the same examples, read by callbacks";
}

TEST_F(AbiRound, AnExampleThatCannotBeReadStopsTheRoundAndIsNamed) {
  host_.read = [](uint64_t, std::span<float>, int32_t&) { return -1; };
  open();
  const coterie_progress progress = train();
  EXPECT_EQ(status_, COTERIE_OK);
  EXPECT_EQ(progress.step_status, COTERIE_UNAVAILABLE);
  EXPECT_NE(error().find("the app could not read example"), std::string::npos) << error();
  EXPECT_NE(error().find("16 features"), std::string::npos) << error();
  EXPECT_TRUE(host_.server.uploads().empty());
}

TEST_F(AbiRound, LabelsTheModelDoesNotKnowStopTheRound) {
  for (const int32_t wrong : {-1, 3, INT32_MAX, INT32_MIN}) {
    host_.read = [wrong](uint64_t, std::span<float> features, int32_t& label) {
      std::fill(features.begin(), features.end(), 0.5f);
      label = wrong;
      return 0;
    };
    open();
    EXPECT_EQ(train().step_status, COTERIE_INVALID_ARGUMENT) << wrong << ": " << error();
    EXPECT_NE(error().find("label"), std::string::npos) << error();
    coterie_client_close(&client_);
    std::filesystem::remove_all(directory_ / "state");
  }
}

TEST_F(AbiRound, ADataSetOfNothingOrOfTooMuchStopsTheRound) {
  for (const uint64_t size : {uint64_t{0}, uint64_t{1} << 40, UINT64_MAX}) {
    host_.size = size;
    open();
    const coterie_progress progress = train();
    EXPECT_EQ(progress.step_status, size == 0 ? COTERIE_INVALID_ARGUMENT : COTERIE_TOO_LARGE)
        << size << ": " << error();
    coterie_client_close(&client_);
    std::filesystem::remove_all(directory_ / "state");
  }
}

TEST_F(AbiRound, ACallbackThatThrowsPoisonsTheClientAndNothingElse) {
  host_.read = [](uint64_t, std::span<float>, int32_t&) -> int { throw std::runtime_error("not in C"); };
  open();
  train();
  EXPECT_EQ(status_, COTERIE_INTERNAL);
  EXPECT_EQ(error(), "a defect inside the library: not in C");
  EXPECT_EQ(coterie_client_step(client_, nullptr), COTERIE_INTERNAL);
  EXPECT_EQ(coterie_client_run(client_, 1, nullptr, nullptr), COTERIE_INTERNAL);
  coterie_client_close(&client_);
  host_.read = Host().read;
  open();
  EXPECT_EQ(coterie_client_run(client_, 1, nullptr, nullptr), COTERIE_OK) << error();
}

}  // namespace
}  // namespace coterie::test
