// Headers that our encoder never writes but a peer can: absent fields, odd sizes, shared tables, unions of the future.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "proto/codec/codec.h"
#include "proto/codec/limits.h"
#include "proto/generated/model_generated.h"
#include "proto/generated/secagg_generated.h"
#include "proto/generated/state_generated.h"
#include "proto/generated/wire_generated.h"
#include "tests/support/matchers.h"
#include "tests/support/messages.h"

namespace coterie {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

Bytes finished(FlatBufferBuilder& builder, FrameKind kind, ByteView payload = {}) {
  return build_frame(kind, ByteView(builder.GetBufferPointer(), builder.GetSize()), payload);
}

// A table without a single field, as the header of a frame of `kind`.
Bytes frame_of_empty_table(FrameKind kind) {
  FlatBufferBuilder builder;
  builder.Finish(Offset<void>(builder.EndTable(builder.StartTable())));
  return finished(builder, kind);
}

TEST(ForgedHeader, WithoutAnyFieldIsAnErrorOrTheDefaults) {
  test::for_each_message([&]<typename Message>() {
    const FrameKind kind = test::MessageTraits<Message>::kKind;
    SCOPED_TRACE(std::string(to_string(kind)));
    const Bytes frame = frame_of_empty_table(kind);
    const bool decodes = test::decodes_and_reencodes<Message>(frame);
    EXPECT_EQ(decodes, kind == FrameKind::retry_window || kind == FrameKind::log_proof)
        << "the messages that have no required field";
  });
}

// The same frame as if its writer had left one field of the root table out: the field's slot in the vtable set to zero.
Bytes without_field(Bytes frame, flatbuffers::voffset_t field) {
  auto* table = flatbuffers::GetMutableRoot<flatbuffers::Table>(frame.data() + kPreludeBytes);
  auto* vtable = const_cast<uint8_t*>(table->GetVTable());
  if (field < flatbuffers::ReadScalar<flatbuffers::voffset_t>(vtable)) {
    flatbuffers::WriteScalar<flatbuffers::voffset_t>(vtable + field, 0);
  }
  return frame;
}

template <typename Message>
void expect_required(std::initializer_list<flatbuffers::voffset_t> fields) {
  const Bytes frame = test::frame_of(test::MessageTraits<Message>::samples().typical);
  for (const flatbuffers::voffset_t field : fields) {
    EXPECT_ERROR(test::decode<Message>(without_field(frame, field)), ErrorCode::malformed, "FlatBuffer")
        << to_string(test::MessageTraits<Message>::kKind) << " field " << (field - 4) / 2;
  }
}

// What the schema calls required is missed by the verifier, before anything is read.
TEST(ForgedHeader, WithoutARequiredFieldFailsTheVerifier) {
  expect_required<EnrollRequest>(
      {wire::EnrollRequest::VT_TOKEN, wire::EnrollRequest::VT_PUBLIC_KEY, wire::EnrollRequest::VT_PROOF});
  expect_required<EnrollReply>(
      {wire::EnrollReply::VT_DEVICE, wire::EnrollReply::VT_POPULATION, wire::EnrollReply::VT_SIGNING_KEY});
  expect_required<CheckinRequest>({wire::CheckinRequest::VT_POPULATION});
  expect_required<Assignment>({wire::Assignment::VT_JOB, wire::Assignment::VT_PLAN, wire::Assignment::VT_MODEL,
                               wire::Assignment::VT_TICKET, wire::Assignment::VT_SIGNATURE});
  expect_required<Plan>({wire::Plan::VT_JOB, wire::Plan::VT_TRAINING, wire::Plan::VT_UPDATE});
  expect_required<UpdateHeader>({wire::Update::VT_MODEL});
  expect_required<Receipt>({wire::Receipt::VT_RECEIPT});
  expect_required<ErrorReply>({wire::ErrorReply::VT_CODE});
  expect_required<KeyAdvert>({wire::KeyAdvert::VT_IDENTITY, wire::KeyAdvert::VT_MASK_KEY, wire::KeyAdvert::VT_SEAL_KEY,
                              wire::KeyAdvert::VT_SEED_COMMITMENT, wire::KeyAdvert::VT_NONCE});
  expect_required<RosterSlot>({wire::RosterSlot::VT_ROOT});
  expect_required<HolderChoice>({wire::HolderChoice::VT_ROOT});
  expect_required<RosterView>({wire::RosterView::VT_ROOT, wire::RosterView::VT_ENTRIES});
  expect_required<SealedShares>({wire::SealedShares::VT_SESSION});
  expect_required<ShareInbox>({wire::ShareInbox::VT_SESSION});
  expect_required<MaskedInput>({wire::MaskedInput::VT_SESSION, wire::MaskedInput::VT_LANES});
  expect_required<ConfirmRequest>({wire::ConfirmRequest::VT_SESSION, wire::ConfirmRequest::VT_SURVIVORS});
  expect_required<Confirmation>({wire::Confirmation::VT_SESSION, wire::Confirmation::VT_SIGNATURE});
  expect_required<UnmaskRequest>({wire::UnmaskRequest::VT_SESSION, wire::UnmaskRequest::VT_SURVIVORS});
  expect_required<Unmasking>({wire::Unmasking::VT_SESSION});
  expect_required<ModelGraph>({model::Model::VT_NAME, model::Model::VT_TENSORS, model::Model::VT_OPS});
  expect_required<CheckpointHeader>({state::Checkpoint::VT_MODEL, state::Checkpoint::VT_RANDOM});
  expect_required<PartialSumHeader>({state::PartialSum::VT_PARTIAL});
  expect_required<DatasetHeader>({state::Dataset::VT_INPUTS, state::Dataset::VT_TARGET});
  expect_required<ParticipantState>({state::ParticipantState::VT_RANDOM});
}

TEST(ForgedHeader, WithoutAnyOneFieldDoesNoHarm) {
  test::for_each_message([&]<typename Message>() {
    const test::Samples<Message> samples = test::MessageTraits<Message>::samples();
    for (const Message* sample : {&samples.minimal, &samples.typical, &samples.extreme}) {
      const Bytes frame = test::frame_of(*sample);
      for (flatbuffers::voffset_t field = 4; field < 40; field = static_cast<flatbuffers::voffset_t>(field + 2)) {
        test::decodes_and_reencodes<Message>(without_field(frame, field));
      }
    }
  });
}

// The verifier of FlatBuffers 2.0 checks that a vector's length is aligned, not that its 8-byte elements are. Here the
// vector begins four bytes late: the first random word, 4, is taken for its length.
TEST(ForgedHeader, WithElementsOffTheirAlignmentIsReadAllTheSame) {
  ParticipantState message = test::MessageTraits<ParticipantState>::samples().typical;
  message.random = {4, 0x0000000500000000, 0x0000000600000000, 0x0000000700000000};
  Bytes frame = encode(message);
  auto* table = flatbuffers::GetMutableRoot<flatbuffers::Table>(frame.data() + kPreludeBytes);
  uint8_t* field = table->GetAddressOf(state::ParticipantState::VT_RANDOM);
  ASSERT_NE(field, nullptr);
  flatbuffers::WriteScalar(field, flatbuffers::ReadScalar<flatbuffers::uoffset_t>(field) + 4);
  const Result<ParticipantState> decoded = decode_participant_state(frame);
  ASSERT_OK(decoded);
  EXPECT_EQ(decoded->random[0], 0u) << "a word that straddles two old ones";
  EXPECT_EQ(decoded->random[1], 5u);
  EXPECT_TRUE(test::decodes_and_reencodes<ParticipantState>(frame));
}

TEST(ForgedHeader, WithTheWrongNumberOfRandomWordsIsRejected) {
  const wire::Digest32 digest;
  for (const size_t words : {0u, 3u, 5u}) {
    const std::vector<uint64_t> random(words, 1);
    FlatBufferBuilder builder;
    auto vector = builder.CreateVector(random);
    builder.Finish(state::CreateCheckpoint(builder, &digest, 0, 0, 0, vector));
    EXPECT_ERROR(decode_checkpoint(finished(builder, FrameKind::checkpoint)), ErrorCode::malformed, "random");
    builder.Clear();
    vector = builder.CreateVector(random);
    builder.Finish(state::CreateParticipantState(builder, 1, nullptr, 0, 0, 0, 0, 0, vector));
    EXPECT_ERROR(decode_participant_state(finished(builder, FrameKind::participant_state)), ErrorCode::malformed,
                 "random");
  }
}

TEST(ForgedHeader, OfADatasetWhoseSizeOverflowsIsRejectedByName) {
  struct Case {
    uint64_t examples;
    std::vector<int64_t> shape;
    std::string_view words;
  };
  constexpr int64_t kHuge = int64_t{1} << 31;
  const Case cases[] = {
      {limits::kDatasetExamplesMax + 1, {1}, "examples"},
      {~uint64_t{0}, {1}, "examples"},
      {1, {0}, "column x: a dimension"},
      {1, {4, -1}, "column x: a dimension"},
      {1, {std::numeric_limits<int64_t>::min()}, "column x: a dimension"},
      {1, {kHuge, kHuge, kHuge}, "column x: the number of elements"},
      {1, {kHuge, kHuge}, "column x: the bytes of a shape overflow"},
      {1, {int64_t{1} << 60}, "data set is too large"},
      {limits::kDatasetExamplesMax, {int64_t{1} << 30}, "data set is too large"},  // * 4 * 2^32 is 2^64
      {limits::kDatasetExamplesMax, {1 << 10}, "data set is too large"},
      {uint64_t{1} << 32, {4}, "data set is too large"},  // each column is within the limit, together they are not
      {uint64_t{1} << 32, {3}, "payload"},                // 64 GiB exactly: within the limit, but not here
  };
  for (const Case& c : cases) {
    FlatBufferBuilder builder;
    const auto shape = builder.CreateVector(c.shape);
    const auto name = builder.CreateString("x");
    const auto input = state::CreateDatasetColumn(builder, name, static_cast<uint8_t>(ColumnType::float32), shape);
    const auto inputs = builder.CreateVector(&input, 1);
    const auto target = state::CreateDatasetColumn(builder, 0, static_cast<uint8_t>(ColumnType::int32));
    builder.Finish(state::CreateDataset(builder, 0, c.examples, inputs, target, 2));
    EXPECT_ERROR(decode_dataset(finished(builder, FrameKind::dataset, Bytes(16))), ErrorCode::malformed, c.words);
  }
}

Bytes model_frame(FlatBufferBuilder& builder, const std::vector<Offset<model::Tensor>>& tensors,
                  const std::vector<Offset<model::Op>>& ops, uint32_t output = 1) {
  const auto name = builder.CreateString("forged");
  const auto tensor_vector = builder.CreateVector(tensors);
  const auto op_vector = builder.CreateVector(ops);
  const auto input_vector = builder.CreateVector(std::vector<uint32_t>{0});
  builder.Finish(model::CreateModel(builder, name, tensor_vector, op_vector, input_vector, output));
  return finished(builder, FrameKind::model);
}

Offset<model::Tensor> input_tensor(FlatBufferBuilder& builder) {
  const auto name = builder.CreateString("x");
  const auto shape = builder.CreateVector(std::vector<int64_t>{1});
  return model::CreateTensor(builder, name, model::TensorRole::input, shape);
}

Offset<model::Op> relu_op(FlatBufferBuilder& builder,
                          Offset<flatbuffers::Vector<Offset<model::Attribute>>> attributes = 0) {
  const auto name = builder.CreateString("r");
  const auto inputs = builder.CreateVector(std::vector<uint32_t>{0});
  const auto outputs = builder.CreateVector(std::vector<uint32_t>{1});
  return model::CreateOp(builder, static_cast<uint8_t>(OpKind::relu), name, inputs, outputs, attributes);
}

Offset<model::Tensor> activation_tensor(FlatBufferBuilder& builder) {
  const auto name = builder.CreateString("y");
  return model::CreateTensor(builder, name, model::TensorRole::activation);
}

// An attribute that is not known could change the op's meaning: the model is refused, not misread.
TEST(ForgedHeader, WithAnAttributeOfALaterReleaseIsRefused) {
  FlatBufferBuilder builder;
  const auto tensors = std::vector{input_tensor(builder), activation_tensor(builder)};
  const auto attributes =
      builder.CreateVector(std::vector{model::CreateAttribute(builder, builder.CreateString("leakage"), 0, 0.5)});
  const Bytes frame = model_frame(builder, tensors, std::vector{relu_op(builder, attributes)});
  EXPECT_ERROR(decode_model(frame), ErrorCode::malformed, "op r attribute leakage is unknown to it");
}

// A few bytes that claim to be a lot: a vector of offsets to one and the same table. The counts are checked before
// anything is copied, and the verifier gives up after as many tables as a real model can have.
TEST(ForgedHeader, WithOneTableManyTimesIsStoppedByTheLimits) {
  {
    FlatBufferBuilder builder;
    const std::vector<Offset<model::Tensor>> tensors(limits::kModelTensorsMax + 1, input_tensor(builder));
    const auto ops = std::vector{relu_op(builder)};
    EXPECT_ERROR(decode_model(model_frame(builder, tensors, ops)), ErrorCode::malformed, "too many tensors");
  }
  {
    FlatBufferBuilder builder;
    const std::vector<Offset<model::Tensor>> tensors(limits::kVerifierTablesMax + 1, input_tensor(builder));
    const auto ops = std::vector{relu_op(builder)};
    EXPECT_ERROR(decode_model(model_frame(builder, tensors, ops)), ErrorCode::malformed, "not a valid FlatBuffer");
  }
}

TEST(ForgedHeader, WithAPropertyOrAJobTwiceKeepsTheLastAndEncodesAgain) {
  FlatBufferBuilder builder;
  const auto random = builder.CreateVector(std::vector<uint64_t>{1, 2, 3, 4});
  std::vector<Offset<state::NewestModel>> newest;
  for (const uint64_t version : {5u, 6u}) {
    newest.push_back(state::CreateNewestModel(builder, builder.CreateString("j"), version));
  }
  const auto newest_models = builder.CreateVector(newest);
  builder.Finish(state::CreateParticipantState(builder, 1, nullptr, 0, 0, 0, 0, 0, random, newest_models));
  const Bytes frame = finished(builder, FrameKind::participant_state);
  const Result<ParticipantState> state = decode_participant_state(frame);
  ASSERT_OK(state);
  EXPECT_EQ(state->newest_models.at(JobId("j")), ModelVersion(6));
  EXPECT_TRUE(test::decodes_and_reencodes<ParticipantState>(frame));
}

// Strings of a FlatBuffer may hold zeros; lengths count them, and nothing is cut at one.
TEST(ForgedHeader, WithAZeroInsideATextKeepsAllOfIt) {
  const CheckinRequest request{Population(std::string("a\0b", 3)), std::string("\0", 1), 0};
  const Bytes frame = encode(request);
  const Result<CheckinRequest> decoded = decode_checkin_request(frame);
  ASSERT_OK(decoded);
  EXPECT_EQ(decoded->population.value().size(), 3u);
  EXPECT_TRUE(*decoded == request);
}

}  // namespace
}  // namespace coterie
