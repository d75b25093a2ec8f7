// The device's saved session.
#include "proto/codec/codec.h"
#include "proto/codec/flat.h"
#include "proto/generated/state_generated.h"

namespace coterie {

Bytes encode(const ParticipantState& message) {
  flatbuffers::FlatBufferBuilder builder;
  const auto population = builder.CreateString(message.population.value());
  const auto signing_key = flat::vector(builder, message.signing_key);
  flatbuffers::Offset<wire::Assignment> assignment = 0;
  if (message.assignment) assignment = flat::build(builder, *message.assignment);
  const auto random = builder.CreateVector(message.random.data(), message.random.size());
  std::vector<flatbuffers::Offset<state::NewestModel>> newest;
  for (const auto& [job, version] : message.newest_models) {
    newest.push_back(state::CreateNewestModel(builder, builder.CreateString(job.value()), version.value()));
  }
  const auto newest_models = builder.CreateVector(newest);
  const auto plan = flat::vector(builder, message.plan);
  const wire::DeviceKeyHash device = flat::device(message.device);
  builder.Finish(state::CreateParticipantState(builder, static_cast<uint8_t>(message.phase), &device, population,
                                               signing_key, assignment, message.failures, unix_ms(message.wait_until),
                                               random, newest_models, message.rounds_done, plan));
  return flat::finish(builder, FrameKind::participant_state);
}

Result<ParticipantState> decode_participant_state(ByteView bytes) {
  COT_ASSIGN(const Frame frame, parse_frame(bytes, FrameKind::participant_state));
  COT_ASSIGN(const auto root, flat::Root<state::ParticipantState>::verify(frame.header));
  ParticipantState message;
  if (root->phase() < static_cast<uint8_t>(ParticipantPhase::unenrolled) ||
      root->phase() > static_cast<uint8_t>(ParticipantPhase::aggregating)) {
    return flat::out_of_range("phase", "is unknown");
  }
  message.phase = static_cast<ParticipantPhase>(root->phase());
  if (root->device() != nullptr) message.device = flat::device(*root->device());
  COT_ASSIGN(std::string population, flat::text(root->population(), "population", limits::kTextBytesMax));
  message.population = Population(std::move(population));
  COT_ASSIGN(message.signing_key, flat::bytes(root->signing_key(), "signing_key", limits::kKeyBytesMax, 0));
  if (root->assignment() != nullptr) {
    COT_ASSIGN(Assignment assignment, flat::parse(*root->assignment()));
    message.assignment = std::move(assignment);
  }
  if (!message.assignment && message.phase >= ParticipantPhase::assigned) {
    return flat::out_of_range("assignment", "is missing");
  }
  message.failures = root->failures();
  COT_ASSIGN(message.wait_until, flat::wall_time(root->wait_until_unix_ms(), "wait_until"));
  if (root->random()->size() != message.random.size()) return flat::out_of_range("random", "must have 4 words");
  for (uint32_t i = 0; i < message.random.size(); ++i) {
    message.random[i] = flat::element(*root->random(), i);
  }
  if (root->newest_models() != nullptr) {
    if (root->newest_models()->size() > limits::kJobsRememberedMax) {
      return flat::out_of_range("newest_models", "has more than 1024 entries");
    }
    for (const state::NewestModel* entry : *root->newest_models()) {
      COT_ASSIGN(std::string job, flat::text(entry->job(), "job", 64, 1));
      message.newest_models[JobId(std::move(job))] = ModelVersion(entry->model_version());
    }
  }
  message.rounds_done = root->rounds_done();
  COT_ASSIGN(message.plan, flat::bytes(root->plan(), "plan", limits::kPlanBytesMax, 0));
  return message;
}

}  // namespace coterie
