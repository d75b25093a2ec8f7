#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>

#include "proto/codec/limits.h"
#include "tests/support/messages.h"
#include "tests/support/sample_values.h"

namespace coterie::test {
namespace {

RoundKey round_key(uint64_t round, uint32_t attempt) { return {RoundId(round), Attempt(attempt)}; }

TensorInfo input(std::string name, Shape shape) { return {std::move(name), TensorRole::input, std::move(shape), 0}; }
TensorInfo parameter(std::string name, Shape shape, uint64_t offset) {
  return {std::move(name), TensorRole::parameter, std::move(shape), offset};
}
TensorInfo activation(std::string name) { return {std::move(name), TensorRole::activation, {}, 0}; }

void change(float& field) { field = -FLT_MAX; }
void change(bool& field) { field = !field; }
void change(std::vector<int64_t>& field) { field = {-limits::kModelDimensionMax, 0, limits::kModelDimensionMax}; }
void change(uint32_t& field) { field = kMax32; }
void change(uint8_t& field) { field = 255; }
template <typename Enum>
  requires std::is_enum_v<Enum>
void change(Enum& field) {
  field = static_cast<Enum>(1);
}
void change_every_field(std::monostate&) {}
template <typename Attributes>
void change_every_field(Attributes& attributes) {
  Attributes::fields(attributes, [](const char*, auto& field) { change(field); });
}

// One op of every kind and attributes at their limits; not a network that could run.
ModelGraph extreme_model() {
  ModelGraph graph;
  graph.name = odd_text(limits::kTextBytesMax);
  graph.tensors = {input(odd_text(limits::kTextBytesMax), {1, 1, 1, 1, 1, 1, 1, limits::kModelDimensionMax}),
                   parameter("w", {2, 3}, 64), parameter("b", {3}, 0), parameter("k", {1, 1, 1, 1, 1, 1, 1, 2}, 128)};
  uint32_t last = 0;
  const auto then = [&](OpKind kind, std::vector<uint32_t> extra, decltype(OpInfo::attributes) attributes = {}) {
    graph.tensors.push_back(activation("a" + std::to_string(graph.tensors.size())));
    const auto output = static_cast<uint32_t>(graph.tensors.size() - 1);
    std::vector<uint32_t> inputs = {last};
    inputs.insert(inputs.end(), extra.begin(), extra.end());
    graph.ops.push_back({kind, odd_text(limits::kTextBytesMax), std::move(inputs), {output}, std::move(attributes)});
    last = output;
  };
  then(OpKind::dense, {1, 2});
  then(OpKind::conv2d, {3, 2}, Conv2dAttributes{kMax32, kMax32, kMax32, kMax32, kMax32, kMax32, kMax32});
  then(OpKind::max_pool2d, {}, Pool2dAttributes{kMax32, kMax32, kMax32, kMax32, kMax32, kMax32, kMax32, kMax32});
  then(OpKind::average_pool2d, {}, Pool2dAttributes{0, 0, 0, 0, 0, 0, 0, 0});
  then(OpKind::global_average_pool2d, {});
  then(OpKind::relu, {0, 0, 0, 0, 0, 0, 0});
  then(OpKind::add, {last});
  then(OpKind::flatten, {});
  then(OpKind::reshape, {}, ShapeAttributes{Shape(8, limits::kModelDimensionMax)});
  then(OpKind::reshape, {}, ShapeAttributes{Shape(8, -limits::kModelDimensionMax)});
  // Every other kind, with one attribute that differs from its default.
  for (size_t kind = static_cast<size_t>(OpKind::reshape) + 1; kind <= kOpKinds; ++kind) {
    OpAttributes attributes = default_attributes(static_cast<OpKind>(kind));
    std::visit([]<typename A>(A& a) { change_every_field(a); }, attributes);
    then(static_cast<OpKind>(kind), {kNoTensor}, std::move(attributes));
  }
  graph.tensors.push_back({"state", TensorRole::state, {2}, 192});
  graph.tensors.push_back({"mask", TensorRole::constant, {2, 1}, 0, DataType::int32, false, counting(8)});
  graph.tensors.push_back({"frozen", TensorRole::parameter, {1}, 256, DataType::float32, true});
  graph.tensors.push_back({"tokens", TensorRole::input, {3}, 0, DataType::int32});
  graph.tensors.push_back({"number", TensorRole::input, {}, 0});
  graph.inputs = {0, static_cast<uint32_t>(graph.tensors.size() - 1), static_cast<uint32_t>(graph.tensors.size() - 2)};
  graph.output = last;
  graph.properties[odd_text(limits::kTextBytesMax)] = odd_text(limits::kDetailBytesMax);
  graph.properties["empty"] = "";
  return graph;
}

ModelGraph typical_model() {
  ModelGraph graph;
  graph.name = "two-layers";
  graph.tensors = {
      input("x", {4}),     parameter("dense1/w", {4, 3}, 0),   parameter("dense1/b", {3}, 64),  activation("dense1"),
      activation("relu1"), parameter("dense2/w", {3, 2}, 128), parameter("dense2/b", {2}, 192), activation("logits")};
  graph.ops = {{OpKind::dense, "dense1", {0, 1, 2}, {3}, {}},
               {OpKind::relu, "relu1", {3}, {4}, {}},
               {OpKind::dense, "dense2", {4, 5, 6}, {7}, {}}};
  graph.inputs = {0};
  graph.output = 7;
  graph.properties = {{"author", "a test"}, {"license", "CC0"}, {"task", "classification"}};
  return graph;
}

std::vector<RetiringKey> most_retiring_keys() {
  return std::vector<RetiringKey>(kRetiringKeysMax,
                                  {Bytes(limits::kKeyBytesMax, 0xfe), wall_time_from_unix_ms(limits::kUnixMsMax)});
}

}  // namespace

Samples<EnrollRequest> MessageTraits<EnrollRequest>::samples() {
  using namespace limits;
  return {.minimal = {"t", KeyAlgorithm::ed25519, {0}, {0}, ""},
          .typical = {"invite-7f3a", KeyAlgorithm::ed25519, counting(32), counting(64), "coterie-cpp/0.1.0"},
          .extreme = {odd_text(kTokenBytesMax), KeyAlgorithm::p256, Bytes(kKeyBytesMax, 0xff),
                      Bytes(kSignatureBytesMax, 0xff), odd_text(kTextBytesMax)}};
}

Samples<EnrollReply> MessageTraits<EnrollReply>::samples() {
  return {.minimal = {{}, Population("p"), {0}},
          .typical = {counting_device(1), Population("phones"), counting(32)},
          .extreme = {counting_device(0xf0), Population(odd_text(limits::kTextBytesMax)),
                      Bytes(limits::kKeyBytesMax, 0xff), most_retiring_keys()}};
}

Samples<CheckinRequest> MessageTraits<CheckinRequest>::samples() {
  return {.minimal = {Population("p"), "", 0},
          .typical = {Population("phones"), "coterie-cpp/0.1.0", 30'000},
          .extreme = {Population(odd_text(limits::kTextBytesMax)), odd_text(limits::kTextBytesMax), limits::kWaitMsMax,
                      Refusal{round_key(kMax64, kMax32), odd_text(limits::kTextBytesMax)}}};
}

Samples<RetryWindow> MessageTraits<RetryWindow>::samples() {
  return {.minimal = {0, 0, ""},
          .typical = {60'000, 120'000, "round is full"},
          .extreme = {kMax32, kMax32, odd_text(limits::kTextBytesMax)}};
}

Samples<Assignment> MessageTraits<Assignment>::samples() {
  using namespace limits;
  return {
      .minimal = {JobId("j"), {}, {}, {}, {}, 0, 0, {}, {0}, {0}},
      .typical = {JobId("j7k2q"), round_key(41, 1), ModelVersion(40), counting_digest(1), counting_digest(101), 312,
                  1'234'624, wall_time_from_unix_ms(1'700'000'600'000), counting(96), counting(64)},
      .extreme = {JobId(odd_text(64)), round_key(kMax64, kMax32), ModelVersion(kMax64), counting_digest(0xf0),
                  counting_digest(0xe0), static_cast<uint32_t>(kWireHeaderBytesMax + 64), kPayloadBytesMax,
                  wall_time_from_unix_ms(kUnixMsMax), Bytes(kTicketBytesMax, 0xff), Bytes(kSignatureBytesMax, 0xff)}};
}

Samples<Plan> MessageTraits<Plan>::samples() {
  const float almost_one = std::nextafter(1.0f, 0.0f);
  Plan minimal;
  minimal.job = JobId("j");
  minimal.training.batch_size = 1;
  minimal.training.optimizer = {OptimizerKind::sgd, FLT_TRUE_MIN, 0, 0, 0, 0, 0};
  minimal.update.value_count = 1;
  minimal.update.fixed_point = {64, 0, FLT_TRUE_MIN, 1, 1};
  Plan typical;
  typical.job = JobId("j7k2q");
  typical.training = {Loss::softmax_cross_entropy, 32, 2, 500, {.learning_rate = 0.05f, .momentum = 0.9f}};
  typical.update = {UpdateEncoding::float32, 308'656, 1.5f, FixedPointSpec::finest(8, 1000, 100'000)};
  Plan extreme;
  extreme.job = JobId(odd_text(64));
  extreme.training = {
      Loss::mean_squared_error, 4096, 1000, kMax32, {OptimizerKind::adam, 1e6f, 1, 1e6f, almost_one, almost_one, 1}};
  extreme.update = {UpdateEncoding::float32, 1ull << 32, 1e9f, FixedPointSpec::finest(0.5f, kWeightMax, kMax32 >> 4)};
  return {minimal, typical, extreme};
}

Samples<UpdateHeader> MessageTraits<UpdateHeader>::samples() {
  UpdateHeader minimal;
  minimal.weight = 1;
  return {
      .minimal = minimal,
      .typical = {round_key(41, 1), counting_digest(101), UpdateEncoding::float32, 100, 600, 1200, 812.25, 1100, 5300},
      .extreme = {round_key(kMax64, kMax32), counting_digest(0xf0), UpdateEncoding::float32, 3, kMax32, kMax32,
                  -DBL_MAX, kMax32, kMax32}};
}

Samples<Receipt> MessageTraits<Receipt>::samples() {
  return {.minimal = {{}, {0}},
          .typical = {round_key(41, 1), counting(32)},
          .extreme = {round_key(kMax64, kMax32), Bytes(limits::kSignatureBytesMax, 0xff)}};
}

Samples<ErrorReply> MessageTraits<ErrorReply>::samples() {
  return {.minimal = {"x", "", 0, 0},
          .typical = {"overloaded", "too many uploads at once", 1000, 5000},
          .extreme = {odd_text(64), odd_text(limits::kDetailBytesMax), kMax32, kMax32}};
}

Samples<LogProof> MessageTraits<LogProof>::samples() {
  return {.minimal = {},
          .typical = {14, 16, {counting_digest(1), counting_digest(101), counting_digest(0xf0)}},
          .extreme = {kMax64, kMax64, std::vector<Digest>(limits::kLogProofHashesMax, counting_digest(0xf0))}};
}

Samples<ModelGraph> MessageTraits<ModelGraph>::samples() {
  ModelGraph minimal;
  minimal.tensors = {input("x", {1}), activation("y")};
  minimal.ops = {{OpKind::relu, "r", {0}, {1}, {}}};
  minimal.inputs = {0};
  minimal.output = 1;
  return {minimal, typical_model(), extreme_model()};
}

Samples<CheckpointHeader> MessageTraits<CheckpointHeader>::samples() {
  return {.minimal = {},
          .typical = {counting_digest(101),
                      17,
                      1,
                      3,
                      {1, 2, 3, 4},
                      17,
                      1,
                      64,
                      5,
                      12.5,
                      40,
                      68,
                      10.25,
                      0.5,
                      3,
                      1,
                      0.1,
                      77,
                      0,
                      0,
                      20,
                      6,
                      2,
                      "loss=1\noptimizer=2\n",
                      0,
                      0,
                      0,
                      0,
                      24,
                      12},
          .extreme = {counting_digest(0xf0),
                      kMax64,
                      kMax32,
                      2,
                      {kMax64, kMax64, kMax64, kMax64},
                      kMax64,
                      2,
                      4,
                      2,
                      DBL_MAX,
                      kMax64,
                      kMax64,
                      -DBL_MAX,
                      DBL_MAX,
                      kMax32,
                      kMax32,
                      DBL_MIN,
                      kMax64,
                      0x1p24f,
                      kMax32,
                      kMax64,
                      kMax64,
                      kMax64,
                      std::string(kTrainingIdentityBytesMax, 'x'),
                      0,
                      0,
                      0,
                      0,
                      4,
                      8}};
}

Samples<PartialSumHeader> MessageTraits<PartialSumHeader>::samples() {
  NormHistogram norms;
  norms.counts.front() = norms.counts[33] = 1;
  norms.counts.back() = kMax32 - 2;
  return {.minimal = {{}, "n", 1, 1, 0},
          .typical = {round_key(41, 1), "node-a/7/12", 64, 38'400, 100},
          .extreme = {round_key(kMax64, kMax32), odd_text(limits::kTextBytesMax), kMax32,
                      static_cast<uint64_t>(kMax32) * kWeightMax, 3, norms}};
}

Samples<OptimizerStateHeader> MessageTraits<OptimizerStateHeader>::samples() {
  return {.minimal = {2, 0, 0, 2}, .typical = {2, 40, 100, 2}, .extreme = {255, kMax64, 3, kStateVectorsMax}};
}

Samples<DatasetHeader> MessageTraits<DatasetHeader>::samples() {
  const DatasetColumn label{.name = "", .type = ColumnType::int32, .shape = {}};
  const DatasetColumn extreme{.name = "",
                              .type = ColumnType::uint8,
                              .shape = {1, 1, 1, 1, 1, 1, 1, 2},
                              .scale = std::numeric_limits<float>::max(),
                              .offset = std::numeric_limits<float>::lowest()};
  const DatasetColumn labels{odd_text(limits::kTextBytesMax), ColumnType::int32, extreme.shape};
  return {.minimal = {"", 1, {DatasetColumn{}}, label, 1},
          .typical = {"digits",
                      10,
                      {{"image", ColumnType::uint8, {4, 4, 1}, 0.0625f, -0.5f}, {"writer", ColumnType::int32, {2}}},
                      {"digit", ColumnType::int32, {}},
                      10},
          .extreme = {odd_text(limits::kTextBytesMax), 2, std::vector<DatasetColumn>(limits::kModelInputsMax, extreme),
                      labels, kMax32}};
}

Samples<ParticipantState> MessageTraits<ParticipantState>::samples() {
  const Samples<Assignment> assignments = MessageTraits<Assignment>::samples();
  ParticipantState extreme{ParticipantPhase::trained,
                           counting_device(0xf0),
                           Population(odd_text(limits::kTextBytesMax)),
                           {Bytes(limits::kKeyBytesMax, 0xff), most_retiring_keys()},
                           assignments.extreme,
                           kMax32,
                           wall_time_from_unix_ms(limits::kUnixMsMax),
                           {kMax64, kMax64, kMax64, kMax64},
                           {{JobId(odd_text(64)), ModelVersion(kMax64)}, {JobId("z"), ModelVersion(0)}},
                           kMax64,
                           Bytes(limits::kPlanBytesMax, 0xff)};
  extreme.spent = {DBL_MAX, DBL_TRUE_MIN, round_key(kMax64, kMax32)};
  extreme.took_part = {{JobId(odd_text(64)), ModelVersion(kMax64)}, {JobId("z"), ModelVersion(0)}};
  extreme.refusal = Refusal{round_key(kMax64, kMax32), odd_text(limits::kTextBytesMax)};
  extreme.log = SignedLogHead{Population(odd_text(limits::kTextBytesMax)),
                              {kMax64, counting_digest(0xf0)},
                              Bytes(limits::kSignatureBytesMax, 0xff)};
  extreme.ledgers = {{JobId(odd_text(64)), {kMax64, counting_digest(0xf0)}}, {JobId("z"), {1, counting_digest(1)}}};
  return {.minimal = {},
          .typical = {ParticipantPhase::assigned,
                      counting_device(1),
                      Population("phones"),
                      {counting(32)},
                      assignments.typical,
                      2,
                      wall_time_from_unix_ms(1'700'000'000'000),
                      {1, 2, 3, 4},
                      {{JobId("j7k2q"), ModelVersion(40)}, {JobId("k"), ModelVersion(2)}},
                      12,
                      {}},
          .extreme = extreme};
}

Bytes payload_of(const UpdateHeader& header) { return counting(header.value_count * sizeof(float)); }

Bytes payload_of(const ModelGraph& header) {
  uint64_t end = 0;
  for (const TensorInfo& tensor : header.tensors) {
    if (!has_payload(tensor.role)) continue;
    end = std::max(end, tensor.payload_offset + *element_count(tensor.shape) * sizeof(float));
  }
  return counting(end);
}

Bytes payload_of(const CheckpointHeader& header) {
  return counting(header.value_bytes * (1 + header.slots + (header.best_step > 0 ? 1 : 0)) + header.factor_bytes +
                  header.examples * sizeof(uint32_t) + header.range_values * sizeof(float));
}

Bytes payload_of(const PartialSumHeader& header) { return counting(header.value_count * sizeof(uint64_t)); }

Bytes payload_of(const OptimizerStateHeader& header) {
  return counting(header.value_count * header.vectors * sizeof(float));
}

Bytes payload_of(const DatasetHeader& header) {
  uint64_t input_bytes = 0;
  for (const DatasetColumn& input : header.inputs) input_bytes += header.examples * *example_bytes(input);
  const uint64_t target_bytes = header.examples * *example_bytes(header.target);
  if (header.target.type != ColumnType::int32) return counting(input_bytes + target_bytes);
  Bytes payload = counting(input_bytes);
  const uint64_t labels = target_bytes / sizeof(int32_t);
  for (uint64_t i = 0; i < labels; ++i) {
    uint8_t label[4];
    const uint32_t largest = std::min<uint32_t>(header.classes - 1, std::numeric_limits<int32_t>::max());
    const uint32_t value = i + 1 == labels ? largest : static_cast<uint32_t>(i % header.classes);
    std::memcpy(label, &value, sizeof label);
    payload.insert(payload.end(), label, label + sizeof label);
  }
  return payload;
}

}  // namespace coterie::test
