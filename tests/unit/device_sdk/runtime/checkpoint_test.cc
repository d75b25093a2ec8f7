#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "base/os/file.h"
#include "device_sdk/runtime/dataset_source.h"
#include "device_sdk/runtime/trainer.h"
#include "secure/crypto/digest.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/toy_cipher.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"

namespace coterie::test {
namespace {

constexpr uint64_t kCount = 10;  // with batches of 4: three steps an epoch

// 4 -> 3 -> 2: a file small enough to damage at every byte.
Model tiny_model(uint64_t seed = 1) {
  ModelBuilder build("tiny", {4}, seed);
  return load_or_die(build.finish(build.dense(build.relu(build.dense(build.input(), 3)), 2)));
}

TrainingSettings settings_with(OptimizerKind kind, float momentum = 0.9f) {
  return {.batch_size = 4,
          .local_epochs = 3,
          .optimizer = {.kind = kind, .learning_rate = 0.05f, .momentum = momentum, .weight_decay = 0.01f}};
}

Trainer make_trainer(const Model& model, const TrainingSettings& settings, ExampleSource& examples, uint64_t seed = 9) {
  Result<Trainer> trainer = Trainer::create(model, settings, examples, seed);
  EXPECT_OK(trainer);
  return std::move(*trainer);
}

void expect_same_state(const Trainer& a, const Trainer& b) {
  EXPECT_EQ(a.summary(), b.summary());
  ASSERT_EQ(a.parameters().size(), b.parameters().size());
  EXPECT_EQ(std::memcmp(a.parameters().data(), b.parameters().data(), a.parameters().size_bytes()), 0);
}

Bytes contents(const std::string& path) {
  Result<Bytes> bytes = os::read_file(path, 1 << 20);
  EXPECT_OK(bytes);
  return *bytes;
}

void overwrite(const std::string& path, const Bytes& bytes) { ASSERT_OK(os::write_file_atomically(path, bytes)); }

// The trailer that belongs to these bytes, so that a test reaches what lies behind the checksum.
Bytes with_checksum(Bytes frame) {
  const Digest digest = content_digest(frame);
  frame.insert(frame.end(), digest.bytes.begin(), digest.bytes.end());
  return frame;
}

// Everything that a step depends on beside the weights: the schedule's memory, virtual batches, dropout's seed.
TEST(Checkpoint, ResumesToTheSameBitsWithAScheduleAndVirtualBatches) {
  const TemporaryDirectory directory;
  const std::string path = directory / "checkpoint";
  ModelBuilder build("scheduled", {8, 8, 1}, 3);
  const TensorId hidden = build.relu(build.dense(build.flatten(build.input()), 16));
  const Model model = load_or_die(build.finish(build.dense(hidden, 10)));
  Examples examples(kCount, 64, 10);
  TrainOptions options;
  options.optimizer = {.kind = OptimizerKind::adamw, .learning_rate = 0.01f};
  options.schedule = *parse_schedule("plateau:patience=0,gamma=0.5,warmup=2");
  options.batch_size = 4;
  options.micro_batch_size = 2;
  options.epochs = 4;
  options.clip_norm = 0.5f;
  options.seed = 9;
  Trainer whole = *Trainer::create(model, options, examples);
  options.seed = 1234;  // comes from the checkpoint
  uint64_t steps = 0;
  for (; !whole.finished(); ++steps) {
    ASSERT_OK(whole.save_checkpoint(path));
    ASSERT_OK(whole.step());
    Trainer resumed = *Trainer::create(model, options, examples);
    ASSERT_OK(resumed.restore_checkpoint(path));
    ASSERT_OK(resumed.step());
    expect_same_state(resumed, whole);
  }
  EXPECT_GT(steps, 8u);
}

TEST(Checkpoint, ResumesToTheSameBitsFromEveryStepOfARun) {
  const TemporaryDirectory directory;
  const Model model = small_cnn();
  for (const TrainingSettings& settings :
       {settings_with(OptimizerKind::sgd, 0), settings_with(OptimizerKind::sgd), settings_with(OptimizerKind::adam)}) {
    Examples examples(kCount, 64, 10);
    Trainer whole = make_trainer(model, settings, examples);
    std::vector<std::string> paths;
    for (;;) {
      paths.push_back(directory / std::string("step").append(std::to_string(paths.size())));
      ASSERT_OK(whole.save_checkpoint(paths.back()));
      if (whole.finished()) break;
      ASSERT_OK(whole.step());
    }
    ASSERT_EQ(paths.size(), 10u);
    for (const std::string& path : paths) {
      SCOPED_TRACE(path);
      Trainer resumed = make_trainer(model, settings, examples, /*seed=*/1234);  // the seed comes from the checkpoint
      ASSERT_OK(resumed.restore_checkpoint(path));
      while (!resumed.finished()) ASSERT_OK(resumed.step());
      expect_same_state(resumed, whole);
      ASSERT_OK(os::remove_file(path));
    }
  }
}

TEST(Checkpoint, OfARestoredTrainerIsTheSameFile) {
  const TemporaryDirectory directory;
  Examples examples(kCount, 4, 2);
  Trainer trainer = make_trainer(tiny_model(), settings_with(OptimizerKind::adam), examples);
  for (int i = 0; i < 4; ++i) ASSERT_OK(trainer.step());
  ASSERT_OK(trainer.save_checkpoint(directory / "a"));
  Trainer other = make_trainer(tiny_model(), settings_with(OptimizerKind::adam), examples, 77);
  ASSERT_OK(other.restore_checkpoint(directory / "a"));
  ASSERT_OK(other.save_checkpoint(directory / "b"));
  EXPECT_EQ(contents(directory / "a"), contents(directory / "b"));
}

TrainOptions encrypted(const std::string& key) {
  TrainOptions options = options_of(settings_with(OptimizerKind::adam), 9);
  if (!key.empty()) options.checkpoint_cipher = std::make_shared<ToyCipher>(key);
  return options;
}

TEST(Checkpoint, EncryptedIsReadWithItsKeyAloneAndGoesOnToTheSameBits) {
  const TemporaryDirectory directory;
  const std::string path = directory / "sealed";
  const Model model = tiny_model();
  Examples examples(kCount, 4, 2);
  Trainer trainer = *Trainer::create(model, encrypted("key"), examples);
  for (int i = 0; i < 4; ++i) ASSERT_OK(trainer.step());
  ASSERT_OK(trainer.save_checkpoint(path));
  const Bytes first = contents(path);
  const auto* weights = reinterpret_cast<const uint8_t*>(trainer.parameters().data());
  EXPECT_EQ(as_text(first).find(as_text(ByteView(weights, 16))), std::string_view::npos);
  ASSERT_OK(trainer.save_checkpoint(path));
  EXPECT_NE(contents(path), first);  // another nonce

  Trainer resumed = *Trainer::create(model, encrypted("key"), examples);
  const Trainer untouched = *Trainer::create(model, encrypted("key"), examples);
  Trainer thief = *Trainer::create(model, encrypted("guess"), examples);
  EXPECT_ERROR(thief.restore_checkpoint(path), ErrorCode::permission_denied, "another key");
  Trainer without = *Trainer::create(model, encrypted(""), examples);
  EXPECT_ERROR(without.restore_checkpoint(path), ErrorCode::permission_denied, "is encrypted, and no key is given");
  ASSERT_OK(without.save_checkpoint(directory / "plain"));
  EXPECT_ERROR(resumed.restore_checkpoint(directory / "plain"), ErrorCode::conflict,
               "not encrypted, and a key is given");
  expect_same_state(resumed, untouched);
  expect_same_state(thief, untouched);
  expect_same_state(without, untouched);
  ASSERT_OK(resumed.restore_checkpoint(path));
  ASSERT_OK(resumed.step());
  ASSERT_OK(trainer.step());
  expect_same_state(resumed, trainer);
}

TEST(Checkpoint, EncryptedAndThenDamagedOrOfAnotherModelSaysWhich) {
  const TemporaryDirectory directory;
  const std::string path = directory / "sealed";
  Examples examples(kCount, 4, 2);
  Trainer trainer = *Trainer::create(tiny_model(), encrypted("key"), examples);
  ASSERT_OK(trainer.save_checkpoint(path));
  const Bytes sound = contents(path);
  for (size_t i = 0; i < sound.size(); ++i) {
    Bytes flipped = sound;
    flipped[i] = static_cast<uint8_t>(flipped[i] ^ (1u << (i % 8)));
    overwrite(path, flipped);
    EXPECT_ERROR(trainer.restore_checkpoint(path), ErrorCode::data_loss, "checksum") << i;
  }
  // Somebody who mends the checksum too.
  Bytes forged(sound.begin(), sound.end() - 32);
  forged.back() ^= 1;
  overwrite(path, with_checksum(forged));
  EXPECT_ERROR(trainer.restore_checkpoint(path), ErrorCode::permission_denied, "forged");
  overwrite(path, sound);
  Trainer other = *Trainer::create(tiny_model(2), encrypted("key"), examples);
  EXPECT_ERROR(other.restore_checkpoint(path), ErrorCode::conflict, "another model");
  EXPECT_OK(trainer.restore_checkpoint(path));
}

TEST(Checkpoint, IsRefusedWhenTruncatedOrExtendedOrWithAnyBitFlippedAndThenNothingChanges) {
  const TemporaryDirectory directory;
  const std::string path = directory / "checkpoint";
  Examples examples(kCount, 4, 2);
  Trainer trainer = make_trainer(tiny_model(), settings_with(OptimizerKind::sgd), examples);
  for (int i = 0; i < 2; ++i) ASSERT_OK(trainer.step());
  ASSERT_OK(trainer.save_checkpoint(path));
  const Bytes sound = contents(path);
  Trainer fresh = make_trainer(tiny_model(), settings_with(OptimizerKind::sgd), examples);
  const Trainer untouched = make_trainer(tiny_model(), settings_with(OptimizerKind::sgd), examples);
  for (size_t size = 0; size < sound.size(); ++size) {
    overwrite(path, Bytes(sound.begin(), sound.begin() + static_cast<ptrdiff_t>(size)));
    EXPECT_ERROR(fresh.restore_checkpoint(path), ErrorCode::data_loss, "checkpoint:") << size;
  }
  for (size_t i = 0; i < sound.size(); ++i) {
    Bytes flipped = sound;
    flipped[i] = static_cast<uint8_t>(flipped[i] ^ (1u << (i % 8)));
    overwrite(path, flipped);
    EXPECT_ERROR(fresh.restore_checkpoint(path), ErrorCode::data_loss, "checksum") << i;
  }
  Bytes longer = sound;
  longer.push_back(0);
  overwrite(path, longer);
  EXPECT_ERROR(fresh.restore_checkpoint(path), ErrorCode::data_loss, "checksum");
  expect_same_state(fresh, untouched);
  overwrite(path, sound);
  ASSERT_OK(fresh.restore_checkpoint(path));
  expect_same_state(fresh, trainer);
}

TEST(Checkpoint, OfAnotherModelDataSetOrSettingsIsRefused) {
  const TemporaryDirectory directory;
  const std::string path = directory / "checkpoint";
  Examples examples(kCount, 4, 2), fewer(kCount - 1, 4, 2);
  Trainer trainer = make_trainer(tiny_model(), settings_with(OptimizerKind::sgd), examples);
  ASSERT_OK(trainer.step());
  ASSERT_OK(trainer.save_checkpoint(path));

  Trainer other_model = make_trainer(tiny_model(2), settings_with(OptimizerKind::sgd), examples);
  EXPECT_ERROR(other_model.restore_checkpoint(path), ErrorCode::conflict, "of another model");
  Trainer other_data = make_trainer(tiny_model(), settings_with(OptimizerKind::sgd), fewer);
  EXPECT_ERROR(other_data.restore_checkpoint(path), ErrorCode::conflict, "of 10 examples, here are 9");
  TrainingSettings holds_out = settings_with(OptimizerKind::sgd);
  holds_out.early_stopping = EarlyStopping{.validation_share = 0.25f, .patience = 2};
  Trainer other_end = make_trainer(tiny_model(), holds_out, examples);
  EXPECT_ERROR(other_end.restore_checkpoint(path), ErrorCode::conflict,
               "another training; not the same: early_stopping");
  Trainer other_optimizer = make_trainer(tiny_model(), settings_with(OptimizerKind::adam), examples);
  EXPECT_ERROR(other_optimizer.restore_checkpoint(path), ErrorCode::conflict,
               "another training; not the same: optimizer");
  TrainingSettings settings = settings_with(OptimizerKind::sgd);
  settings.batch_size = 3;
  Trainer other_batch = make_trainer(tiny_model(), settings, examples);
  EXPECT_ERROR(other_batch.restore_checkpoint(path), ErrorCode::conflict, "not the same: batch_size");
}

// What was trained one way does not go on another way: the numbers would be of neither.
TEST(Checkpoint, OfAnotherTrainingIsRefusedAndSaysWhatDiffers) {
  const TemporaryDirectory directory;
  const std::string path = directory / "checkpoint";
  Examples examples(kCount, 4, 2);
  const Model model = tiny_model();
  TrainOptions options;
  options.optimizer = {.kind = OptimizerKind::adam, .learning_rate = 0.05f};
  options.batch_size = 4;
  options.epochs = 3;
  Trainer trainer = *Trainer::create(model, options, examples);
  ASSERT_OK(trainer.step());
  ASSERT_OK(trainer.save_checkpoint(path));
  using Change = std::function<void(TrainOptions&)>;
  const auto restored = [&](const Change& change) {
    TrainOptions other = options;
    change(other);
    Trainer resumed = *Trainer::create(model, other, examples);
    return resumed.restore_checkpoint(path);
  };
  const std::string prefix = "checkpoint: is of another training; not the same: ";
  const std::pair<std::string, Change> others[] = {
      {"optimizer", [](TrainOptions& o) { o.optimizer.kind = OptimizerKind::lamb; }},
      {"optimizer", [](TrainOptions& o) { o.optimizer.kind = OptimizerKind::adamw; }},
      {"optimizer", [](TrainOptions& o) { o.optimizer.kind = OptimizerKind::lion; }},  // it keeps less
      {"learning_rate", [](TrainOptions& o) { o.optimizer.learning_rate = 0.051f; }},
      {"beta2", [](TrainOptions& o) { o.optimizer.beta2 = 0.99f; }},
      {"weight_decay", [](TrainOptions& o) { o.optimizer.weight_decay = 0.01f; }},
      {"schedule", [](TrainOptions& o) { o.schedule = *parse_schedule("step:period=2"); }},
      {"schedule, steps", [](TrainOptions& o) { o.schedule = *parse_schedule("cosine"); }},
      {"freeze", [](TrainOptions& o) { o.freeze = {"dense1.weight"}; }},
      {"train_last", [](TrainOptions& o) { o.train_last = 1; }},
      {"groups",
       [](TrainOptions& o) {
         o.groups = {{"dense1*", 0.5f, 0}};
       }},
      {"channels",
       [](TrainOptions& o) {
         o.channels = {{"dense1.weight", 0, 1}};
       }},
      {"class_weights",
       [](TrainOptions& o) {
         o.loss.class_weights = {1, 2};
       }},
      {"label_smoothing", [](TrainOptions& o) { o.loss.label_smoothing = 0.1f; }},
      {"loss", [](TrainOptions& o) { o.loss.kind = Loss::negative_log_likelihood; }},
      {"storage", [](TrainOptions& o) { o.storage = Storage::bfloat16; }},
      {"loss_scale", [](TrainOptions& o) { o.loss_scaling.start = 8; }},
      {"clip_norm", [](TrainOptions& o) { o.clip_norm = 1; }},
      {"micro_batch_size", [](TrainOptions& o) { o.micro_batch_size = 2; }},
      {"learning_rate, optimizer",
       [](TrainOptions& o) { o.optimizer = {.kind = OptimizerKind::rmsprop, .learning_rate = 1}; }}};
  for (const auto& [names, change] : others) {
    SCOPED_TRACE(names);
    const Status status = restored(change);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code(), ErrorCode::conflict);
    EXPECT_EQ(status.error().message(), prefix + names);
  }
  // What changes no bit, and how long it is to go on, may be another.
  EXPECT_OK(restored([](TrainOptions& o) { o.threads = 2; }));
  EXPECT_OK(restored([](TrainOptions& o) { o.planned_bytes_max = 1 << 20; }));
  EXPECT_OK(restored([](TrainOptions& o) { o.epochs = 4; }));
  EXPECT_OK(restored([](TrainOptions& o) { o.micro_batch_size = 4; }));
}

TEST(Checkpoint, OfOtherDataOfTheSameSizeIsRefused) {
  const TemporaryDirectory directory;
  const std::string path = directory / "checkpoint";
  const auto data = [](float first) {
    std::vector<float> features(kCount * 4, 0.5f);
    features[0] = first;
    const std::vector<int32_t> labels(kCount, 1);
    Result<DatasetSource> source =
        DatasetSource::load(encode_dataset(labelled_dataset("data", kCount, {4}, 2), features, labels));
    EXPECT_OK(source);
    return std::move(*source);
  };
  DatasetSource one = data(0), same = data(0), other = data(0.25f);
  Trainer trainer = make_trainer(tiny_model(), settings_with(OptimizerKind::sgd), one);
  ASSERT_OK(trainer.step());
  ASSERT_OK(trainer.save_checkpoint(path));
  Trainer resumed = make_trainer(tiny_model(), settings_with(OptimizerKind::sgd), same);
  EXPECT_OK(resumed.restore_checkpoint(path));
  Trainer of_other = make_trainer(tiny_model(), settings_with(OptimizerKind::sgd), other);
  EXPECT_ERROR(of_other.restore_checkpoint(path), ErrorCode::conflict, "not the same: data");
}

TEST(Checkpoint, OfBeforeCheckpointsSaidOfWhichTrainingTheyAreIsRefused) {
  const TemporaryDirectory directory;
  const std::string path = directory / "checkpoint";
  Examples examples(kCount, 4, 2);
  Trainer trainer = make_trainer(tiny_model(), settings_with(OptimizerKind::sgd), examples);
  ASSERT_OK(trainer.save_checkpoint(path));
  Bytes frame = contents(path);
  frame.resize(frame.size() - 32);
  Result<Decoded<CheckpointHeader>> decoded = decode_checkpoint(frame);
  ASSERT_OK(decoded);
  decoded->header.training.clear();
  Bytes old = encode_head(decoded->header, decoded->payload.size());
  old.insert(old.end(), decoded->payload.begin(), decoded->payload.end());
  overwrite(path, with_checksum(old));
  EXPECT_ERROR(trainer.restore_checkpoint(path), ErrorCode::unsupported_version, "has to begin anew");
}

TEST(Checkpoint, WithARightChecksumOverWrongContentsIsStillRefused) {
  const TemporaryDirectory directory;
  const std::string path = directory / "checkpoint";
  Examples examples(kCount, 4, 2);
  Trainer trainer = make_trainer(tiny_model(), settings_with(OptimizerKind::sgd), examples);
  ASSERT_OK(trainer.step());
  ASSERT_OK(trainer.save_checkpoint(path));
  Bytes frame = contents(path);
  frame.resize(frame.size() - 32);

  Bytes twice = frame;  // the last example of the order becomes another one again
  std::memcpy(twice.data() + twice.size() - 4, twice.data() + twice.size() - 8, 4);
  overwrite(path, with_checksum(twice));
  EXPECT_ERROR(trainer.restore_checkpoint(path), ErrorCode::data_loss, "not a permutation");

  Bytes beyond = frame;
  const uint32_t index = kCount;
  std::memcpy(beyond.data() + beyond.size() - 4, &index, 4);
  overwrite(path, with_checksum(beyond));
  EXPECT_ERROR(trainer.restore_checkpoint(path), ErrorCode::data_loss, "not a permutation");

  Bytes shorter = frame;
  shorter.resize(shorter.size() - 4);
  overwrite(path, with_checksum(shorter));
  EXPECT_ERROR(trainer.restore_checkpoint(path), ErrorCode::malformed, "");

  overwrite(path, with_checksum(encode(RetryWindow{1, 2, "not a checkpoint"})));
  EXPECT_ERROR(trainer.restore_checkpoint(path), ErrorCode::malformed, "expected checkpoint");
  overwrite(path, encode(RetryWindow{1, 2, "another kind of file, with no such checksum"}));
  EXPECT_ERROR(trainer.restore_checkpoint(path), ErrorCode::conflict, "is a file of kind retry_window; name one");
}

TEST(Checkpoint, WithAHeaderThatTrainingCannotReachIsRefused) {
  const TemporaryDirectory directory;
  const std::string path = directory / "checkpoint";
  Examples examples(kCount, 4, 2);
  TrainOptions options = options_of(settings_with(OptimizerKind::sgd), 9);
  options.loss.ignore_label = 5;
  Trainer trainer = *Trainer::create(tiny_model(), options, examples);
  ASSERT_OK(trainer.step());
  ASSERT_OK(trainer.save_checkpoint(path));
  Bytes frame = contents(path);
  frame.resize(frame.size() - 32);
  const Result<Decoded<CheckpointHeader>> sound = decode_checkpoint(frame);
  ASSERT_OK(sound);
  const auto forge = [&](const std::function<void(CheckpointHeader&)>& change) {
    CheckpointHeader header = sound->header;
    change(header);
    Bytes forged = encode_head(header, sound->payload.size());
    forged.insert(forged.end(), sound->payload.begin(), sound->payload.end());
    overwrite(path, with_checksum(forged));
    return trainer.restore_checkpoint(path);
  };
  EXPECT_OK(forge([](CheckpointHeader&) {}));
  EXPECT_ERROR(forge([](CheckpointHeader& h) { h.position = kCount; }), ErrorCode::conflict, "");
  EXPECT_ERROR(forge([](CheckpointHeader& h) { h.position = 3; }), ErrorCode::conflict, "");
  EXPECT_ERROR(forge([](CheckpointHeader& h) { h.step = 5; }), ErrorCode::conflict, "");
  EXPECT_ERROR(forge([](CheckpointHeader& h) { h.epoch = 4; }), ErrorCode::conflict, "");
  EXPECT_ERROR(forge([](CheckpointHeader& h) { h.correct = 5; }), ErrorCode::data_loss, "more right answers");
  EXPECT_ERROR(forge([](CheckpointHeader& h) { h.optimizer_step = 0; }), ErrorCode::conflict, "");
  EXPECT_ERROR(forge([](CheckpointHeader& h) { h.random = {}; }), ErrorCode::data_loss, "random state");
  EXPECT_OK(forge([](CheckpointHeader& h) { h.correct = 1, h.ignored = 3; }));
  EXPECT_ERROR(forge([](CheckpointHeader& h) { h.correct = 1, h.ignored = 4; }), ErrorCode::data_loss,
               "than there are");
  EXPECT_ERROR(forge([](CheckpointHeader& h) { h.correct = 0, h.ignored = h.epoch_ignored_start = 1; }),
               ErrorCode::data_loss, "before its epoch");
}

TEST(Checkpoint, WithMoreRightAnswersThanItsEpochHasExamplesIsRefused) {
  const TemporaryDirectory directory;
  const std::string path = directory / "checkpoint";
  Examples examples(kCount, 4, 2);
  Trainer trainer = make_trainer(tiny_model(), settings_with(OptimizerKind::sgd), examples);
  for (int i = 0; i < 4; ++i) ASSERT_OK(trainer.step());  // an epoch of three steps, and 4 examples
  ASSERT_OK(trainer.save_checkpoint(path));
  Bytes frame = contents(path);
  frame.resize(frame.size() - 32);
  const Result<Decoded<CheckpointHeader>> sound = decode_checkpoint(frame);
  ASSERT_OK(sound);
  for (const uint64_t correct_before : {9u, 10u}) {
    CheckpointHeader header = sound->header;
    header.correct = 14;
    header.epoch_correct_start = correct_before;
    Bytes forged = encode_head(header, sound->payload.size());
    forged.insert(forged.end(), sound->payload.begin(), sound->payload.end());
    overwrite(path, with_checksum(forged));
    const Status restored = trainer.restore_checkpoint(path);
    if (correct_before == 10) EXPECT_OK(restored);
    else EXPECT_ERROR(restored, ErrorCode::data_loss, "more right answers than examples in its epoch");
  }
}

TEST(Checkpoint, KnowsWhatItsEpochBeganWith) {
  const TemporaryDirectory directory;
  const std::string path = directory / "checkpoint";
  Examples examples(kCount, 4, 2);
  Trainer trainer = make_trainer(tiny_model(), settings_with(OptimizerKind::sgd), examples);
  EXPECT_EQ(trainer.epoch_start(), TrainingSummary());
  for (int i = 0; i < 3; ++i) ASSERT_OK(trainer.step());
  const TrainingSummary start = trainer.summary();
  ASSERT_EQ(start.examples, kCount);
  ASSERT_GT(start.correct, 0u);
  EXPECT_EQ(trainer.epoch_start(), start);
  ASSERT_OK(trainer.step());
  EXPECT_EQ(trainer.epoch_start(), start);
  ASSERT_OK(trainer.save_checkpoint(path));
  Trainer resumed = make_trainer(tiny_model(), settings_with(OptimizerKind::sgd), examples);
  ASSERT_OK(resumed.restore_checkpoint(path));
  EXPECT_EQ(resumed.epoch_start(), start);
}

TEST(Checkpoint, RestoredTakesAwayWhatAKilledProcessLeftOfAnother) {
  const TemporaryDirectory directory;
  Examples examples(kCount, 4, 2);
  Trainer trainer = make_trainer(tiny_model(), settings_with(OptimizerKind::sgd), examples);
  ASSERT_OK(trainer.save_checkpoint(directory / "checkpoint"));
  overwrite(directory / "checkpoint.unfinished.0", Bytes(7));  // nobody has it locked
  ASSERT_OK(trainer.restore_checkpoint(directory / "checkpoint"));
  EXPECT_EQ(*os::list_directory(directory.path()), std::vector<std::string>{"checkpoint"});
}

TEST(Checkpoint, ThatCannotBeWrittenLeavesTheOldOneIntact) {
  const TemporaryDirectory directory;
  const std::string path = directory / "checkpoint";
  Examples examples(kCount, 4, 2);
  Trainer trainer = make_trainer(tiny_model(), settings_with(OptimizerKind::sgd), examples);
  ASSERT_OK(trainer.step());
  ASSERT_OK(trainer.save_checkpoint(path));
  const Bytes old = contents(path);
  ASSERT_OK(trainer.step());
  // The rename is what makes the new file count. It cannot replace a directory, so everything before it happens and it
  // does not: nothing may be left behind.
  ASSERT_OK(os::make_directories(directory / "taken"));
  EXPECT_FALSE(trainer.save_checkpoint(directory / "taken"));
  EXPECT_FALSE(trainer.save_checkpoint(directory / "missing/checkpoint"));
  EXPECT_EQ(contents(path), old);
  const auto names = os::list_directory(directory.path());
  ASSERT_OK(names);
  EXPECT_EQ(*names, (std::vector<std::string>{"checkpoint", "taken"}));
}

TEST(Checkpoint, ThatDoesNotExistIsNotFound) {
  const TemporaryDirectory directory;
  Examples examples(kCount, 4, 2);
  Trainer trainer = make_trainer(tiny_model(), settings_with(OptimizerKind::sgd), examples);
  EXPECT_ERROR(trainer.restore_checkpoint(directory / "none"), ErrorCode::not_found, "none");
}

}  // namespace
}  // namespace coterie::test
