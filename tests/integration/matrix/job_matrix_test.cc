// Every network x what is promised of an update x how the server moves the model: each a short job of real devices
// against a real server, which ends, has learnt something, and has spent what the accountant says. By day a part in
// which each network meets each promise or each strategy; at night all.
#include "device_sdk/runtime/model_builder.h"
#include "proto/messages/model_outputs.h"
#include "secure/dp/account/account.h"
#include "tests/integration/matrix/sdk_device.h"
#include "tests/integration/support/fixture.h"
#include "tests/support/paths.h"
#include "tools/model/zoo.h"
#ifdef COTERIE_WITH_ONNX
#include "base/os/file.h"
#include "model_import/onnx/import_onnx.h"
#endif

namespace coterie::integration {
namespace {

constexpr uint32_t kDevices = 8;
constexpr uint32_t kRounds = 3;
constexpr uint64_t kExamples = 16;  // of each device
constexpr double kMultiplier = 0.4;
constexpr double kDelta = 1e-6;
constexpr Millis kJobMax{60'000};

struct Promise {
  const char* name;
  const char* level;
  coterie_security_level level_min;
  bool has_noise;
  bool has_tree = false;
  bool has_adaptive_clip = false;
};
constexpr Promise kPromises[] = {{"none", "none", COTERIE_SECURITY_NONE, false},
                                 {"none_with_noise", "none", COTERIE_SECURITY_NONE, true},
                                 {"masked", "masked", COTERIE_SECURITY_MASKED, false},
                                 {"active", "active", COTERIE_SECURITY_ACTIVE, false},
                                 {"active_dp", "active_dp", COTERIE_SECURITY_ACTIVE_DP, true}};

// With half of the devices in each round, so that the server can keep them two rounds apart.
constexpr Promise kTree = {"none_with_tree", "none", COTERIE_SECURITY_NONE, true, true};
constexpr uint32_t kTreeGoal = kDevices / 2, kTreeSeparation = 2;

// Updates are longer than the clip that the job begins with, so that it grows.
constexpr Promise kAdaptive[] = {{"none_with_clip", "none", COTERIE_SECURITY_NONE, true, false, true},
                                 {"active_dp_with_clip", "active_dp", COTERIE_SECURITY_ACTIVE_DP, true, false, true}};

struct Network {
  const char* name;
  const char* what;  // that it has and others have not
  bool has_statistics = false;
  bool has_heads = false;
};
constexpr Network kBuiltIn[] = {
    {"mlp", "dense layers"}, {"cnn", "convolutions"}, {"lenet5", "parameters with padding between them"}};
constexpr Network kHeads = {"two_heads", "two outputs with a loss each", false, true};
#ifdef COTERIE_WITH_ONNX
constexpr Network kFromOnnx[] = {{"residual", "batch norm", true},     {"lstm", "an LSTM"},
                                 {"recommender", "embeddings"},        {"shuffle", "a depthwise convolution"},
                                 {"attention", "a transformer block"}, {"tied", "tied weights"}};
#else
constexpr std::array<Network, 0> kFromOnnx{};
#endif
constexpr const char* kStrategies[] = {"fedavg", "fedadam"};

struct Case {
  Network network;
  Promise promise;
  const char* strategy;
};
std::string name_of(const Case& of) { return std::string(of.network.name) + "_" + of.promise.name + "_" + of.strategy; }
void PrintTo(const Case& of, std::ostream* to) { *to << name_of(of); }

std::vector<Case> cases() {
  std::vector<Case> all;
  size_t number = 0;
  const auto add = [&](const Network& network) {
    size_t promises = 0;
    for (const Promise& promise : kPromises) {
      for (size_t s = 0; s < std::size(kStrategies); ++s) {
#ifndef COT_NIGHTLY  // two promises a network, another two for the next, and both strategies in turn
        if ((promises + number) % std::size(kPromises) >= 2 || (promises + number / 2) % std::size(kStrategies) != s)
          continue;
#endif
        all.push_back({network, promise, kStrategies[s]});
      }
      ++promises;
    }
    ++number;
  };
  for (const Network& network : kBuiltIn) add(network);
  for (const Network& network : kFromOnnx) add(network);
  all.push_back({kHeads, kPromises[3], "fedavg"});
  all.push_back({kBuiltIn[0], kTree, "fedavgm"});
  all.push_back({kBuiltIn[2], kTree, "fedavg"});
  all.push_back({kBuiltIn[0], kAdaptive[0], "fedavg"});
  all.push_back({kBuiltIn[2], kAdaptive[1], "fedadam"});  // the bit is behind padding
  return all;
}

bool is_built_in(const Network& network) { return model_kind_from(network.name).has_value(); }

Result<Bytes> two_heads() {
  ModelBuilder build("two_heads", {12, 12, 1}, 7);
  const TensorId trunk = build.relu(build.dense(build.flatten(build.input()), 16));
  const TensorId own = build.dense(trunk, 4), other = build.dense(trunk, 2);
  return build.finish(own, std::vector{other});
}

nlohmann::json heads_of(const Model& model) {
  nlohmann::json heads = nlohmann::json::array();
  const std::vector<uint32_t> outputs = *graph_outputs(model.graph());
  for (const uint32_t output : outputs) {
    heads.push_back({{"output", model.graph().tensors[output].name}, {"loss", "softmax_cross_entropy"}});
  }
  return heads;
}

Result<Bytes> model_file(const Network& network) {
  if (network.has_heads) return two_heads();
  if (is_built_in(network)) return make_model(*model_kind_from(network.name), {12, 12, 1}, 4, 7);
#ifdef COTERIE_WITH_ONNX
  const std::string path = test::source_dir() + "/tests/golden/onnx/" + network.name + ".onnx";
  COT_ASSIGN(const Bytes file, os::read_file(path, 1 << 24));
  COT_ASSIGN(model_import::ImportedModel imported, model_import::import_onnx(file));
  return std::move(imported.model);
#endif
}

class JobMatrix : public ServerTest, public ::testing::WithParamInterface<Case> {
 protected:
  const Promise& promise() const { return GetParam().promise; }

  nlohmann::json spec(const Model& model) const {
    nlohmann::json spec = spec_for(kDevices, kRounds);
    spec["rounds"]["goal_count_min"] = kDevices;
    spec["rounds"]["retry_delay_ms"] = 100;
    spec["rounds"]["attempts_max"] = 3;
    spec["training"] = {{"loss", to_string(loss_for(model))},
                        {"batch_size", 4},
                        {"local_epochs", promise().has_noise ? 4 : 2},
                        {"optimizer", {{"kind", "sgd"}, {"learning_rate", promise().has_noise ? 0.1 : 0.05}}}};
    if (GetParam().network.has_heads) spec["training"]["heads"] = heads_of(model);
    spec["strategy"] = {{"kind", GetParam().strategy}};
    // What noise does to the loss goes with the square of the step, what is learnt with the step itself. And updates
    // with noise are longer than their clip, so that what is learnt stands far above the noise: a case that fails is
    // wrong, and not unlucky.
    const bool is_adaptive = spec["strategy"]["kind"] == "fedadam";
    if (promise().has_noise) spec["strategy"]["server_learning_rate"] = is_adaptive ? 0.015 : 0.5;
    else if (is_adaptive) spec["strategy"]["server_learning_rate"] = 0.05;
    spec["privacy"] = {{"level", promise().level}};
    if (promise().level_min != COTERIE_SECURITY_NONE) {
      spec["privacy"]["cohort_min"] = kDevices;
      spec["privacy"]["corrupt_share"] = 0.3;
    }
    if (promise().has_noise) {
      spec["update"] = {{"clip_l2", 0.3}, {"weight_max", 1}};
      spec["privacy"]["noise_multiplier"] = kMultiplier;
      spec["privacy"]["target_delta"] = kDelta;
      spec["privacy"]["epsilon_budget"] = 1000;
    }
    if (promise().has_adaptive_clip) spec["privacy"]["adaptive_clip"] = nlohmann::json::object();
    if (promise().has_tree) {
      spec["privacy"]["mechanism"] = "tree";
      spec["rounds"]["goal_count"] = spec["rounds"]["goal_count_min"] = kTreeGoal;
      spec["rounds"]["separation_min"] = kTreeSeparation;
    }
    return spec;
  }

  std::string reason_of(const std::string& job) {
    const auto shown = admin_->ask("GET", "/admin/v1/jobs/" + job);
    return shown ? shown->dump() : shown.error().message();
  }

  // Asks when the log has said something of a round, or after a second.
  bool is_completed(const std::string& job) {
    const Instant until = os::monotonic_now() + kJobMax;
    std::string state = "running";
    while (state == "running" && os::monotonic_now() < until) {
      server_->wait_for_log("\"model_version\":" + std::to_string(kRounds) + "}", Millis(1'000));
      const auto shown = admin_->ask("GET", "/admin/v1/jobs/" + job);
      if (shown) state = (*shown)["state"];
    }
    return state == "completed";
  }

  // What the ledger has committed, told by the accountant that `coterie privacy account` asks.
  double epsilon_by_the_ledger() {
    const auto ledger = admin_->ask("GET", "/admin/v1/ledger?limit=1000");
    EXPECT_TRUE(test::is_ok(ledger));
    if (!ledger) return 0;
    Composition composition;
    for (const auto& record : (*ledger)["records"]) {
      EXPECT_NE(record["kind"], "voided");
      if (record["kind"] != "commit") continue;
      const double variance = record["variance"], l2 = record["l2_sensitivity"];
      if (promise().has_tree) {
        EXPECT_EQ(record["mechanism"], "tree");
        // `coterie privacy account --mechanism tree --separation 2 --steps 3`
        const auto tree = tree_noise({kRounds, kTreeSeparation, Participation::separated}, kMultiplier);
        EXPECT_TRUE(test::is_ok(tree));
        composition.push_back({*tree, Sampling::none(), 1});
      } else if (promise().level_min == COTERIE_SECURITY_NONE) {
        composition.push_back({DiscreteGaussianNoise{std::sqrt(variance), l2, false}, Sampling::none(), 1});
      } else {
        composition.push_back({SkellamNoise{variance, record["l1_sensitivity"], l2}, Sampling::none(), 1});
      }
    }
    EXPECT_EQ(composition.size(), promise().has_tree ? 1 : kRounds);
    const auto account = account_for(composition, kDelta);
    EXPECT_TRUE(test::is_ok(account));
    return account ? account->epsilon : 0;
  }
};

TEST_P(JobMatrix, CompletesLearnsAndSpendsWhatTheAccountantSays) {
  SCOPED_TRACE(std::string(GetParam().network.what) + ", " + promise().name + ", " + GetParam().strategy);
  const auto file = model_file(GetParam().network);
  ASSERT_TRUE(test::is_ok(file));
  const auto model = Model::load(*file);
  ASSERT_TRUE(test::is_ok(model));
  start();
  if (GetParam().network.has_statistics && promise().has_noise) {
    EXPECT_ERROR(admin_->create_job(*file, spec(*model)), ErrorCode::invalid_argument, "running statistics");
    return;
  }
  const auto job = admin_->create_job(*file, spec(*model));
  ASSERT_TRUE(test::is_ok(job));
  const std::string ca_file = directory_ / "ca.pem";
  ASSERT_TRUE(test::is_ok(os::write_file_atomically(ca_file, as_bytes(server_->ca_pem()))));
  const auto token = admin_->create_token(kDevices);
  ASSERT_TRUE(test::is_ok(token));
  std::vector<std::unique_ptr<SdkDevice>> devices;
  for (uint32_t i = 0; i < kDevices; ++i) {
    devices.push_back(
        std::make_unique<SdkDevice>(SdkDeviceOptions{.server_url = server_->device_url(),
                                                     .ca_file = ca_file,
                                                     .state_dir = directory_ / ("device" + std::to_string(i)),
                                                     .token = *token,
                                                     .level_min = promise().level_min,
                                                     .seed = i + 1},
                                    Teacher(*model, kExamples, i + 1)));
  }
  const bool completed = is_completed(*job);
  std::string errors;
  for (auto& device : devices) {
    device->stop();
    errors += device->last_error() + "\n";
  }
  ASSERT_TRUE(completed) << reason_of(*job) << "\n" << errors << server_->log();

  // One attempt a round: nothing failed on the way.
  const auto rounds = admin_->rounds(*job);
  ASSERT_TRUE(test::is_ok(rounds));
  EXPECT_EQ((*rounds)["rounds"].size(), kRounds) << rounds->dump();
  Teacher held_out(*model, 64, 1000);
  const double before = loss_of(*model, model->parameters(), held_out);
  const auto weights = admin_->download_weights(*job, kRounds);
  ASSERT_TRUE(test::is_ok(weights));
  const double after = loss_of(*model, *weights, held_out);
  EXPECT_LT(after, before * (promise().has_noise ? 0.99 : 0.95)) << "before " << before;
  std::printf("loss %.4g -> %.4g, ratio %.4f\n", before, after, after / before);
  if (!promise().has_noise) return;

  const auto shown = admin_->ask("GET", "/admin/v1/jobs/" + *job);
  ASSERT_TRUE(test::is_ok(shown));
  EXPECT_NEAR((*shown)["privacy"]["epsilon"].get<double>(), epsilon_by_the_ledger(), 1e-3) << shown->dump();
  EXPECT_EQ((*shown)["privacy"]["releases_open"], 0);
  if (!promise().has_adaptive_clip) return;
  EXPECT_FLOAT_EQ((*rounds)["rounds"].back()["clip_norm"].get<float>(), 0.3f) << "the first round's";
  EXPECT_GT((*rounds)["rounds"].front()["clip_norm"].get<double>(), 0.3);
  EXPECT_GT((*shown)["clip_norm"].get<double>(), (*rounds)["rounds"].front()["clip_norm"].get<double>());
}

INSTANTIATE_TEST_SUITE_P(All, JobMatrix, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return name_of(info.param); });

}  // namespace
}  // namespace coterie::integration
