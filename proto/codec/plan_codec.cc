// Plan frames.
#include "proto/codec/codec.h"
#include "proto/codec/flat.h"

namespace coterie {
namespace {

// Plans of level none have no such table: their bytes, and so their digests, are those of builds that knew no levels.
flatbuffers::Offset<wire::Privacy> build(flatbuffers::FlatBufferBuilder& builder, const PrivacyRules& p) {
  if (p == PrivacyRules{}) return 0;
  const EncodingRules& e = p.encoding;
  const auto encoding = wire::CreateEncoding(builder, e.fraction_bits, e.ring_bits, e.clip_norm, e.weight_max,
                                             e.contributors_max, e.rotated);
  return wire::CreatePrivacy(builder, static_cast<uint8_t>(p.level), p.cohort_min, p.corrupt_share, p.dropout_share,
                             p.cipher_suite, encoding, p.noise_variance_local, p.epsilon_round, p.delta, p.roster_max);
}

PrivacyRules parse(const wire::Privacy& p) {
  PrivacyRules rules{.level = static_cast<SecurityLevel>(p.level()),
                     .cohort_min = p.cohort_min(),
                     .roster_max = p.roster_max(),
                     .corrupt_share = p.corrupt_share(),
                     .dropout_share = p.dropout_share(),
                     .cipher_suite = p.cipher_suite(),
                     .encoding = {},
                     .noise_variance_local = p.noise_variance_local(),
                     .epsilon_round = p.epsilon_round(),
                     .delta = p.delta()};
  if (const wire::Encoding* e = p.encoding(); e != nullptr) {
    rules.encoding = {.fraction_bits = e->fraction_bits(),
                      .ring_bits = e->ring_bits(),
                      .clip_norm = e->clip_norm(),
                      .weight_max = e->weight_max(),
                      .contributors_max = e->contributors_max(),
                      .rotated = e->rotated()};
  }
  return rules;
}

}  // namespace

namespace flat {

flatbuffers::Offset<wire::Ledger> build(flatbuffers::FlatBufferBuilder& builder, const LedgerHead& message) {
  if (message == LedgerHead{}) return 0;
  const wire::Digest32 head = digest(message.head);
  return wire::CreateLedger(builder, message.records, &head);
}

LedgerHead parse(const wire::Ledger* table) {
  return table == nullptr ? LedgerHead{} : LedgerHead{table->records(), digest(*table->head())};
}

}  // namespace flat

Bytes encode(const Plan& message) {
  flatbuffers::FlatBufferBuilder builder;
  const auto job = builder.CreateString(message.job.value());
  const OptimizerSettings& o = message.training.optimizer;
  const auto optimizer = wire::CreateOptimizer(builder, static_cast<uint8_t>(o.kind), o.learning_rate, o.momentum,
                                               o.weight_decay, o.beta1, o.beta2, o.epsilon);
  const auto training =
      wire::CreateTraining(builder, static_cast<uint8_t>(message.training.loss), message.training.batch_size,
                           message.training.local_epochs, message.training.steps_max, optimizer);
  const FixedPointSpec& f = message.update.fixed_point;
  const auto fixed_point =
      wire::CreateFixedPoint(builder, f.lane_bits, f.fraction_bits, f.value_abs_max, f.weight_max, f.contributors_max);
  const auto update = wire::CreateUpdateRules(builder, static_cast<uint8_t>(message.update.encoding),
                                              message.update.value_count, message.update.clip_l2, fixed_point);
  const auto privacy = build(builder, message.privacy);
  const auto ledger = flat::build(builder, message.ledger);
  builder.Finish(wire::CreatePlan(builder, job, training, update, privacy, ledger));
  return flat::finish(builder, FrameKind::plan);
}

Result<Plan> decode_plan(ByteView bytes) {
  COT_ASSIGN(const Frame frame, parse_frame(bytes, FrameKind::plan));
  COT_ASSIGN(const auto root, flat::Root<wire::Plan>::verify(frame.header));
  Plan plan;
  COT_ASSIGN(std::string job, flat::text(root->job(), "job", 64, 1));
  plan.job = JobId(std::move(job));
  const wire::Training& t = *root->training();
  const wire::Optimizer& o = *t.optimizer();
  plan.training = {.loss = static_cast<Loss>(t.loss()),
                   .batch_size = t.batch_size(),
                   .local_epochs = t.local_epochs(),
                   .steps_max = t.steps_max(),
                   .optimizer = {.kind = static_cast<OptimizerKind>(o.kind()),
                                 .learning_rate = o.learning_rate(),
                                 .momentum = o.momentum(),
                                 .weight_decay = o.weight_decay(),
                                 .beta1 = o.beta1(),
                                 .beta2 = o.beta2(),
                                 .epsilon = o.epsilon()}};
  const wire::UpdateRules& u = *root->update();
  const wire::FixedPoint& f = *u.fixed_point();
  plan.update = {.encoding = static_cast<UpdateEncoding>(u.encoding()),
                 .value_count = u.value_count(),
                 .clip_l2 = u.clip_l2(),
                 .fixed_point = {.lane_bits = f.lane_bits(),
                                 .fraction_bits = f.fraction_bits(),
                                 .value_abs_max = f.value_abs_max(),
                                 .weight_max = f.weight_max(),
                                 .contributors_max = f.contributors_max()}};
  if (root->privacy() != nullptr) plan.privacy = parse(*root->privacy());
  plan.ledger = flat::parse(root->ledger());
  if (Status valid = validate(plan); !valid) return Error(ErrorCode::malformed, valid.error().message());
  return plan;
}

}  // namespace coterie
