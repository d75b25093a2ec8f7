// Writes what programs outside of C++ test with into a directory: write_samples DIRECTORY
//   mlp.cotf      a classifier of 4 x 4 x 1 images, 3 classes
//   images.cotf   60 examples for it that can be learnt: the class is the brightest third of the image
//   refusing/     the state of a device that is about to hand in an update of a plan of level masked, for a
//                 test to open with a policy that asks for more: the plan is refused at once, without a
//                 server
//   certified/    a device and an authority: authority (its public key), certificate (of the device), and
//                 state/, as refusing/ but of level active: with the authority and no certificate the plan
//                 is refused
//   int8.cotf     mlp.cotf rounded to one that computes in int8
//   heads.cotf    a classifier as mlp.cotf with a second output, of one number
//   two.cotf      "tokens" (3 int32) and "features" (4 float32) to 2 outputs
#include <cstdio>
#include <string>
#include <vector>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "base/random.h"
#include "device_sdk/runtime/dataset_source.h"
#include "device_sdk/runtime/model_builder.h"
#include "proto/codec/codec.h"
#include "secure/crypto/digest.h"
#include "secure/identity/device_certificate.h"
#include "secure/identity/key_file.h"
#include "secure/identity/signed_seconds.h"
#include "tests/support/int8_parts.h"
#include "tools/model/zoo.h"

namespace coterie {
namespace {

constexpr size_t kExamples = 60, kPixels = 16;

Bytes images() {
  std::vector<float> features;
  std::vector<int32_t> labels;
  Prng prng(1);
  for (size_t i = 0; i < kExamples; ++i) {
    labels.push_back(static_cast<int32_t>(i % 3));
    for (size_t pixel = 0; pixel < kPixels; ++pixel) {
      const bool is_bright = pixel * 3 / kPixels == i % 3;
      features.push_back(static_cast<float>((is_bright ? 0.7 : 0) + 0.3 * prng.uniform()));
    }
  }
  return encode_dataset(labelled_dataset("images", kExamples, {4, 4, 1}, 3), features, labels);
}

Result<Bytes> two_inputs() {
  ModelBuilder build("two", {3}, 1, DataType::int32);
  const TensorId features = build.input("features", {4});
  const TensorId tokens = build.op(OpKind::cast, {build.input()}, CastAttributes{});
  return build.finish(build.add(build.dense(tokens, 2), build.dense(features, 2)));
}

Result<Bytes> two_heads() {
  ModelBuilder build("heads", {4, 4, 1}, 1);
  const TensorId trunk = build.relu(build.dense(build.flatten(build.input()), 8));
  const TensorId classes = build.dense(trunk, 3);
  return build.finish(classes, std::vector{build.dense(trunk, 1)});
}

Bytes refusing_state(SecurityLevel level) {
  Plan plan;
  plan.job = JobId(std::string(to_string(level)));
  plan.update.value_count = 16;
  plan.update.fixed_point = FixedPointSpec::finest(8, 1000, 1000);
  plan.privacy = {.level = level, .cohort_min = 7, .corrupt_share = 0.1, .cipher_suite = 1};
  ParticipantState state;
  state.phase = ParticipantPhase::aggregating;
  state.population = Population("default");
  state.keys.newest = Bytes(32, 1);  // of a server that is asked nothing here
  state.random = Prng(1).state();
  state.plan = encode(plan);
  state.spent = {.epsilon = 1.5, .delta = 0, .last = {}};
  Assignment assignment{.job = plan.job,
                        .round = {RoundId(5), Attempt(2)},
                        .model_version = ModelVersion(4),
                        .plan = content_digest(state.plan),
                        .model = {},
                        .plan_bytes = 0,
                        .model_bytes = 0,
                        .not_after = wall_time_from_unix_ms(4'000'000'000'000),
                        .ticket = {1},
                        .signature = {1}};
  state.newest_models[plan.job] = assignment.model_version;
  state.assignment = std::move(assignment);
  return encode(state);
}

Status write_certified(const std::string& directory) {
  const std::string state = directory + "/state";
  COT_TRY(os::make_directories(state));
  COT_ASSIGN(const auto authority, load_or_create_signer(directory + "/authority.key", KeyAlgorithm::ed25519));
  COT_ASSIGN(const auto device, load_or_create_signer(state + "/identity.key", KeyAlgorithm::ed25519));
  // For the state's population, and for as long as samples of a build are used.
  const WallTime now = time_of_seconds(signed_seconds(os::wall_now()));
  const CertificateStatement statement{.issuer = {},
                                       .serial = 1,
                                       .population = Population("default"),
                                       .not_before = now,
                                       .not_after = now + kCertificateValidityMax,
                                       .has_lists = false};
  COT_ASSIGN(const Bytes certificate,
             make_device_certificate(statement, device->algorithm(), device->public_key(), *authority));
  COT_TRY(os::write_file_atomically(directory + "/authority", authority->public_key()));
  COT_TRY(os::write_file_atomically(directory + "/certificate", certificate));
  return os::write_file_atomically(state + "/session.state", refusing_state(SecurityLevel::active));
}

Status write_all(const std::string& directory) {
  COT_TRY(os::make_directories(directory));
  COT_ASSIGN(const Bytes mlp, make_model(ModelKind::mlp, {4, 4, 1}, 3, 1));
  COT_ASSIGN(const Bytes two, two_inputs());
  COT_ASSIGN(const Bytes heads, two_heads());
  COT_TRY(os::write_file_atomically(directory + "/heads.cotf", heads));
  COT_TRY(os::write_file_atomically(directory + "/mlp.cotf", mlp));
  COT_ASSIGN(const Model exact, Model::load(mlp));
  COT_TRY(os::write_file_atomically(directory + "/int8.cotf", test::int8_file(exact)));
  COT_TRY(os::write_file_atomically(directory + "/two.cotf", two));
  COT_TRY(os::make_directories(directory + "/refusing"));
  COT_TRY(os::write_file_atomically(directory + "/refusing/session.state", refusing_state(SecurityLevel::masked)));
  COT_TRY(write_certified(directory + "/certified"));
  return os::write_file_atomically(directory + "/images.cotf", images());
}

}  // namespace
}  // namespace coterie

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const coterie::Status written = coterie::write_all(argv[1]);
  if (!written) std::fprintf(stderr, "write_samples: %s\n", written.error().message().c_str());
  return written ? 0 : 1;
}
