// coterie.hpp and coterie_train.hpp from the outside: libcoterie.so, nothing of ours but the installed
// headers.
#include <coterie_train.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/paths.h"

namespace {

using coterie::Dataset, coterie::Error, coterie::Example, coterie::Model, coterie::Trainer, coterie::TrainOptions;

std::string sample(const std::string& name) { return coterie::test::samples_dir() + "/" + name; }

TrainOptions options() {
  return {.optimizer = "adam",
          .schedule = "cosine:warmup=5",
          .learning_rate = 0.01f,
          .batch_size = 12,
          .epochs = 8,
          .seed = 3};
}

template <typename Call>
void expect_error(coterie_status status, const std::string& words, Call call) {
  try {
    call();
    ADD_FAILURE() << "expected " << coterie_status_name(status);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), status) << error.what();
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  }
}

TEST(CppBinding, TrainsEvaluatesAndGoesOnFromACheckpoint) {
  const std::string checkpoint = std::filesystem::temp_directory_path() / ("coterie-cpp-" + std::to_string(::getpid()));
  std::vector<uint8_t> whole;
  {
    Trainer trainer(Model(sample("mlp.cotf")), options(),
                    Dataset::open(sample("images.cotf")));  // which it outlives
    const double first_loss = trainer.step().step_loss;
    trainer.run(12);
    trainer.save_checkpoint(checkpoint);
    EXPECT_LT(trainer.run().step_loss, first_loss / 2);
    EXPECT_TRUE(trainer.finished());
    EXPECT_EQ(trainer.memory().arena_bytes, Model(sample("mlp.cotf")).plan_training(options(), 60).arena_bytes);
    const Model trained = trainer.model();
    const Dataset images = Dataset::open(sample("images.cotf"));
    const coterie_evaluation evaluation = trained.evaluate(images);
    EXPECT_GT(evaluation.accuracy, 0.95);
    const std::vector<double> measured = trained.measure(images, {"top-1", "f1"});
    EXPECT_EQ(measured.at(0), evaluation.accuracy);
    EXPECT_GT(measured.at(1), 0.9);
    EXPECT_THROW(trained.measure(images, {"f2"}), Error);
    whole.assign(trained.bytes().begin(), trained.bytes().end());
    std::vector<float> delta(trained.info().flat_count);
    trainer.delta(delta);
    EXPECT_TRUE(std::any_of(delta.begin(), delta.end(), [](float d) { return d != 0; }));
    expect_error(COTERIE_CONFLICT, "finished", [&] { trainer.step(); });
  }
  Trainer resumed(Model(sample("mlp.cotf")), options(), Dataset::open(sample("images.cotf")));
  resumed.restore_checkpoint(checkpoint);
  EXPECT_EQ(resumed.progress().steps, 13u);
  resumed.run();
  const Model trained = resumed.model();
  EXPECT_TRUE(std::equal(whole.begin(), whole.end(), trained.bytes().begin(), trained.bytes().end()));
  std::filesystem::remove(checkpoint);
}

TEST(CppBinding, SaysWhatAWatchHasFound) {
  const std::string file =
      std::filesystem::temp_directory_path() / ("coterie-cpp-watch-" + std::to_string(::getpid()) + ".json");
  std::ofstream(file) << R"({"hits_max": 1, "checks": [{"check": "weight_change_too_large"}]})";
  TrainOptions fast = options();
  fast.learning_rate = 1;
  Trainer trainer(Model(sample("mlp.cotf")), fast, Dataset::open(sample("images.cotf")));
  expect_error(COTERIE_CONFLICT, "nothing is watched", [&] { trainer.watch_hits(); });
  expect_error(COTERIE_NOT_FOUND, "recommended", [&] { trainer.watch("recomended"); });
  trainer.watch(file);
  trainer.run(2);
  std::filesystem::remove(file);
  EXPECT_EQ(trainer.watch_summary().looks, 2u);
  EXPECT_GT(trainer.watch_summary().left_out, 0u);
  const std::vector<coterie_watch_hit> hits = trainer.watch_hits();
  ASSERT_EQ(hits.size(), 1u);
  EXPECT_STREQ(hits[0].check, "weight_change_too_large");
  EXPECT_GT(hits[0].value, hits[0].threshold);
  trainer.watch("recommended");
  EXPECT_TRUE(trainer.watch_hits().empty());
  trainer.end_watch();
  expect_error(COTERIE_CONFLICT, "nothing is watched", [&] { trainer.watch_summary(); });
}

TEST(CppBinding, TunesANewHeadWithEncryptedCheckpoints) {
  const std::string checkpoint =
      std::filesystem::temp_directory_path() / ("coterie-cpp-key-" + std::to_string(::getpid()));
  Model model(sample("mlp.cotf"));
  model.replace_head("dense2", 4, 7);
  EXPECT_EQ(model.output().elements, 4u);
  TrainOptions tuned = options();
  tuned.train_last = 2;
  tuned.channels = {"dense1.*:50%"};
  tuned.groups = {"dense1.*:lr=0.1"};
  tuned.checkpoint_key.assign(32, 5);
  const Dataset images = Dataset::open(sample("images.cotf"));
  Trainer trainer(model, tuned, images);
  trainer.run(3);
  trainer.save_checkpoint(checkpoint);
  trainer.restore_checkpoint(checkpoint);
  tuned.checkpoint_key.clear();
  Trainer without(model, tuned, images);
  expect_error(COTERIE_PERMISSION_DENIED, "encrypted", [&] { without.restore_checkpoint(checkpoint); });
  std::filesystem::remove(checkpoint);
  tuned = options();
  tuned.lora = "rank=2:*.weight";
  Trainer adapted(model, tuned, images);
  adapted.run(2);
  EXPECT_EQ(adapted.model().info().file_bytes, model.info().file_bytes);
}

TEST(CppBinding, TunesAModelAndKeepsItIfItIsBetter) {
  const Model model(sample("mlp.cotf"));
  const Dataset images = Dataset::open(sample("images.cotf"));
  coterie_fine_tuning tuning{};
  const std::optional<Model> tuned = model.fine_tune(images, 0.25f, options(), &tuning);
  ASSERT_TRUE(tuned);
  EXPECT_EQ(tuning.held_out, 15u);
  EXPECT_GT(tuning.accuracy_after, tuning.accuracy_before);
  EXPECT_FALSE(tuned->fine_tune(images, 0.25f, {.learning_rate = 1e-30f}, &tuning));
  EXPECT_EQ(tuning.is_better, 0);
  expect_error(COTERIE_CANCELLED, "ended by on_step",
               [&] { (void)model.fine_tune(images, 0.25f, options(), nullptr, [] { return false; }); });
  EXPECT_THROW((void)model.fine_tune(images, 0.25f, options(), nullptr, []() -> bool { throw std::string("mine"); }),
               std::string);
}

TEST(CppBinding, FitsTrainingToAMemoryBudget) {
  Model model(sample("mlp.cotf"));
  TrainOptions tight = options();
  tight.storage = "bf16";
  tight.loss_scale = "1024";
  const coterie_train_memory whole = model.plan_training(tight, 60);
  tight.memory_budget_bytes = whole.arena_bytes - 1;
  const Dataset images = Dataset::open(sample("images.cotf"));
  Trainer trainer(model, tight, images);
  EXPECT_LT(trainer.memory().arena_bytes, whole.arena_bytes);
  EXPECT_LT(trainer.memory().micro_batch_size, whole.micro_batch_size);
  trainer.run(2);
  tight.memory_budget_bytes = 100;
  expect_error(COTERIE_TOO_LARGE, "needs at least", [&] { Trainer(model, tight, images); });
}

TEST(CppBinding, DescribesPredictsAndSetsParameters) {
  Model model(sample("mlp.cotf"));
  EXPECT_STREQ(model.info().name, "mlp");
  EXPECT_EQ(model.input().elements, 16u);
  const std::string bias = model.parameter(3).name;
  const std::vector<float> before = model.predict(std::vector<float>(32)), values = {1, 2, 3};
  ASSERT_EQ(before.size(), 6u);
  model.set(bias, values);
  const std::vector<float> after = model.predict(std::vector<float>(32));
  for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(after[i] - before[i], values[i % 3], 1e-5);
  std::vector<float> got(3);
  model.get(bias, got);
  EXPECT_EQ(got, values);
  EXPECT_EQ(Model(model.bytes()).predict(std::vector<float>(32)), after);
  expect_error(COTERIE_INVALID_ARGUMENT, "not 2", [&] { model.set(bias, std::vector<float>(2)); });
  expect_error(COTERIE_NOT_FOUND, "/no/such", [] { Model("/no/such/model"); });
  expect_error(COTERIE_MALFORMED, "", [] { Model(std::vector<uint8_t>(9)); });
}

TEST(CppBinding, ReadsExamplesFromALambda) {
  const Model two(sample("two.cotf"));
  int calls = 0;
  const Dataset data(10, [&calls](uint64_t index, Example to) {
    ++calls;
    ASSERT_EQ(to.input_count(), 2u);
    std::ranges::fill(to.ints(0), static_cast<int32_t>(index));
    std::ranges::fill(to.floats(1), 0.5f);
    to.label() = static_cast<int32_t>(index % 2);
  });
  EXPECT_EQ(data.size(), 10u);
  Trainer trainer(two, {.epochs = 3}, data);
  trainer.run();
  EXPECT_EQ(calls, 30);
  EXPECT_EQ(two.evaluate(data).examples, 10u);
}

TEST(CppBinding, LetsOutWhatALambdaThrows) {
  struct Gone {};
  const Model model(sample("mlp.cotf"));
  bool fails = true;
  const Dataset data(10, [&fails](uint64_t, Example to) {
    if (fails) throw Gone();
    std::ranges::fill(to.floats(), 0.0f);
    to.label() = 0;
  });
  Trainer trainer(model, {}, data);
  EXPECT_THROW(trainer.step(), Gone);
  EXPECT_THROW(model.evaluate(data), Gone);
  fails = false;
  EXPECT_EQ(trainer.step().steps, 1u);

  const Dataset one(1, [](uint64_t, Example to) { to.floats(1)[0] = 0; });
  Trainer wrong(model, {}, one);
  expect_error(COTERIE_INVALID_ARGUMENT, "no input 1", [&] { wrong.step(); });
  const Dataset sizeless([]() -> uint64_t { throw Gone(); }, [](uint64_t, Example) {});
  EXPECT_THROW(Trainer(model, {}, sizeless), Gone);
}

TEST(CppBinding, KeepsPushedExamplesForTheirTrainer) {
  const Model model(sample("mlp.cotf"));
  auto trainer = [&model] {
    coterie::Examples examples(model);
    for (int i = 0; i < 6; ++i) examples.add(std::vector<float>(16), i % 3);
    expect_error(COTERIE_INVALID_ARGUMENT, "16 floats", [&] { examples.add(std::vector<float>(15), 0); });
    EXPECT_EQ(examples.size(), 6u);
    return Trainer(model, {.epochs = 2}, examples.dataset());
  }();
  EXPECT_EQ(trainer.run().examples, 12u);
}

TEST(CppBinding, PassesEveryOption) {
  const Model model(sample("mlp.cotf"));
  const Dataset data = Dataset::open(sample("images.cotf"));
  const auto refused = [&](const TrainOptions& wrong, const std::string& words) {
    expect_error(COTERIE_INVALID_ARGUMENT, words, [&] { Trainer(model, wrong, data); });
  };
  refused({.loss = "none"}, "options.loss is none");
  refused({.optimizer = "none"}, "options.optimizer is none");
  refused({.schedule = "none"}, "none");
  refused({.learning_rate = -1}, "learning_rate");
  refused({.label_smoothing = 2}, "label_smoothing");
  refused({.clip_norm = -1}, "clip_norm");
  refused({.clip_value = -1}, "clip_value");
  refused({.batch_size = 8, .micro_batch_size = 3}, "micro_batch_size 3");
  refused({.class_weights = {1, -1, 1}}, "class weights");
  refused({.freeze = {"*"}}, "every parameter is frozen");
  refused({.train_only = {"nothing"}}, "train_only nothing");
  refused({.storage = "int4"}, "float32 or bf16");
  refused({.loss_scale = "3"}, "power of two");
  refused({.augment = "flop"}, "is flop");
  refused({.ignore_label = "no"}, "is no");
  refused({.qat = "full:9"}, "full or weights");
  refused({.heads = {"none"}}, "must be OUTPUT:LOSS");
  expect_error(COTERIE_TOO_LARGE, "", [&] { Trainer(model, {.memory_bytes_max = 100}, data); });
  EXPECT_EQ(Trainer(model, {.batch_size = 10, .epochs = 2}, data).progress().steps_in_all, 12u);
  EXPECT_EQ(Trainer(model, {.batch_size = 10, .epochs = 2, .steps_max = 5}, data).run().steps, 5u);
}

TEST(CppBinding, HasAllOutputsAndHeads) {
  const Model model(sample("heads.cotf"));
  const std::string classes = model.output(0).name, shade = model.output(1).name;
  const std::vector<float> pixels(32, 0.5f);
  const coterie_values input{pixels.data(), nullptr, pixels.size()};
  const auto outputs = model.predict_all({&input, 1}, 2);
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(outputs[0], model.predict(pixels));
  EXPECT_EQ(outputs[1].size(), 2u);
  coterie::Examples examples(model);
  const std::vector<float> target = {2, 0.5f};
  const coterie_values one{pixels.data(), nullptr, 16}, cells{target.data(), nullptr, 2};
  examples.add({&one, 1}, cells);
  const TrainOptions options{.targets_are_values = true,
                             .heads = {classes + ":softmax_cross_entropy", shade + ":l1:0.25"}};
  Trainer trainer(model, options, examples.dataset());
  trainer.run();
  EXPECT_NEAR(trainer.head(1).loss_mean, model.evaluate_heads(examples.dataset(), options)[1].loss_mean, 1e-6);
  EXPECT_EQ(trainer.head(1).weight, 0.25);
}

TEST(CppBinding, OpensAClientAndSaysWhatIsMissing) {
  const Dataset data = Dataset::open(sample("images.cotf"));
  expect_error(COTERIE_INVALID_ARGUMENT, "state_dir", [&] { coterie::Client(coterie_options{}, data); });
  const std::string state = std::filesystem::temp_directory_path() / ("coterie-client-" + std::to_string(::getpid()));
  coterie_transport transport{};
  transport.struct_size = sizeof transport;
  transport.send = [](void*, const coterie_http_request*, coterie_http_reply*) { return 1; };
  coterie_options options{};
  options.state_dir = state.c_str();
  options.enrollment_token = "token";
  options.transport = &transport;
  {
    coterie::Client client(options, data);
    int steps = 0;
    client.run(0, [&steps](const coterie_progress& progress) {
      EXPECT_EQ(progress.step_status, COTERIE_UNAVAILABLE);
      return ++steps < 1;
    });
    EXPECT_EQ(steps, 1);
    EXPECT_THROW(client.run(0, [](const coterie_progress&) -> bool { throw 7; }), int);
    client.cancel();
    expect_error(COTERIE_CANCELLED, "cancelled", [&] { client.step(); });
  }
  std::filesystem::remove_all(state);
}

std::vector<uint8_t> bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(CppBinding, TellsTheDevicesKey) {
  const Dataset data = Dataset::open(sample("images.cotf"));
  const std::string state = std::filesystem::temp_directory_path() / ("coterie-identity-" + std::to_string(::getpid()));
  coterie_transport transport{};
  transport.struct_size = sizeof transport;
  transport.send = [](void*, const coterie_http_request*, coterie_http_reply*) { return 1; };
  coterie_options options{};
  options.transport = &transport;
  for (const int use_p256 : {0, 1}) {
    std::filesystem::remove_all(state);
    options.state_dir = state.c_str();
    options.use_p256 = use_p256;
    const coterie::Identity first = coterie::Client(options, data).identity();
    EXPECT_EQ(first.key_algorithm, use_p256 ? 2u : 1u);
    EXPECT_EQ(first.public_key.size(), use_p256 ? 65u : 32u);
    EXPECT_EQ(coterie::Client(options, data).identity().public_key, first.public_key) << "made once";
  }
  std::filesystem::remove_all(state);
}

// A device in the middle of a session of level active whose app has got an authority.
TEST(CppBinding, TakesPartInActiveRoundsWithACertificateOnly) {
  const Dataset data = Dataset::open(sample("images.cotf"));
  const std::string state =
      std::filesystem::temp_directory_path() / ("coterie-certified-" + std::to_string(::getpid()));
  const std::vector<uint8_t> authority = bytes_of(sample("certified/authority"));
  std::vector<uint8_t> certificate = bytes_of(sample("certified/certificate"));
  ASSERT_EQ(authority.size(), size_t{COTERIE_AUTHORITY_KEY_BYTES});
  ASSERT_LE(certificate.size(), size_t{COTERIE_CERTIFICATE_BYTES_MAX});
  coterie_transport transport{};
  transport.struct_size = sizeof transport;
  transport.send = [](void*, const coterie_http_request*, coterie_http_reply*) { return 1; };
  coterie_options options{};
  options.state_dir = state.c_str();
  options.transport = &transport;
  options.authority_key = authority.data();
  std::vector<std::string> heard;
  const auto step = [&](const coterie::Policy& policy = coterie::Policy{.cohort_min = 7}) {
    std::filesystem::remove_all(state);
    std::filesystem::copy(sample("certified/state"), state);
    heard.clear();
    coterie::Client client(options, data, policy, [&](const coterie_refusal& refusal) {
      heard.push_back(refusal.job + std::string(": ") + refusal.reason);
    });
    client.step();
  };
  step({});
  EXPECT_EQ(heard, std::vector<std::string>{"active: cohort_min"}) << "an app that says nothing asks for 20 devices";
  step();
  EXPECT_EQ(heard, std::vector<std::string>{"active: certificate"});
  options.certificate = certificate.data();
  options.certificate_size = certificate.size();
  step();
  EXPECT_TRUE(heard.empty()) << heard.front();
  // What the app does when one is due; here the authority answers with what it said before.
  {
    std::filesystem::remove_all(state);
    std::filesystem::copy(sample("certified/state"), state);
    options.certificate = nullptr;
    options.certificate_size = 0;
    coterie::Client client(options, data, coterie::Policy{.cohort_min = 7});
    EXPECT_TRUE(client.certificate_is_due()) << "it has none";
    const std::vector<uint8_t> first = client.certificate_request();
    client.take_certificate(certificate);
    EXPECT_FALSE(client.certificate_is_due());
    EXPECT_EQ(client.certificate_request().size(), first.size() + certificate.size()) << "it shows the one that it has";
    std::vector<uint8_t> nonce(COTERIE_NONCE_BYTES, 1), token(100, 2);
    auto attestation = coterie::detail::sized<coterie_attestation>();
    attestation.format = COTERIE_ATTESTATION_PLAY_INTEGRITY;
    attestation.nonce = nonce.data();
    attestation.bytes = token.data();
    attestation.size = token.size();
    EXPECT_EQ(client.certificate_request(&attestation).size(),
              first.size() + certificate.size() + nonce.size() + token.size());
    size_t too_small = 10;
    uint8_t room[10];
    EXPECT_EQ(coterie_client_certificate_request(client.c(), nullptr, room, &too_small), COTERIE_TOO_LARGE);
    EXPECT_EQ(too_small, first.size() + certificate.size());
    certificate[40] ^= 1;
    expect_error(COTERIE_INVALID_ARGUMENT, "not by this authority", [&] { client.take_certificate(certificate); });
    certificate[40] ^= 1;
    options.certificate = certificate.data();
    options.certificate_size = certificate.size();
  }
  certificate[0] ^= 1;
  expect_error(COTERIE_INVALID_ARGUMENT, "is not by this authority", step);
  std::filesystem::remove_all(state);
}

// A device in the middle of a session whose app became stricter.
TEST(CppBinding, TellsTheAppWhichPlanItsPolicyRefuses) {
  const Dataset data = Dataset::open(sample("images.cotf"));
  const std::string state = std::filesystem::temp_directory_path() / ("coterie-refusing-" + std::to_string(::getpid()));
  coterie_transport transport{};
  transport.struct_size = sizeof transport;
  transport.send = [](void*, const coterie_http_request*, coterie_http_reply*) { return 1; };
  coterie_options options{};
  options.state_dir = state.c_str();
  options.transport = &transport;
  const coterie::Policy policy{.security_level_min = COTERIE_SECURITY_ACTIVE};
  const auto begin_anew = [&] {
    std::filesystem::remove_all(state);
    std::filesystem::copy(sample("refusing"), state);
  };
  begin_anew();
  std::vector<std::string> heard;
  {
    coterie::Client client(options, data, policy, [&](const coterie_refusal& refusal) {
      EXPECT_EQ(refusal.epsilon_spent, 1.5);
      heard.push_back(refusal.job + std::string(": ") + refusal.reason);
    });
    coterie::Client moved = std::move(client);
    moved.run(0, [](const coterie_progress&) { return false; });
  }
  EXPECT_EQ(heard, std::vector<std::string>{"masked: security_level"});

  begin_anew();
  {
    coterie::Client client(options, data, policy, [](const coterie_refusal&) { throw 7; });
    EXPECT_THROW(client.run(0, [](const coterie_progress&) { return true; }), int);
  }
  begin_anew();
  {
    coterie::Client client(options, data, policy, [](const coterie_refusal&) { throw 7; });
    EXPECT_THROW(client.step(), int);
    client.step();
  }
  begin_anew();
  {
    coterie::Client client(options, data);
    client.run(0, [](const coterie_progress&) { return false; });
  }
  expect_error(COTERIE_INVALID_ARGUMENT, "cohort_min", [&] { coterie::Client(options, data, {.cohort_min = 1}); });
  std::filesystem::remove_all(state);
}

}  // namespace
