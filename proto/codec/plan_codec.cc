// Plan frames.
#include "proto/codec/codec.h"
#include "proto/codec/flat.h"
#include "proto/messages/augmentation.h"
#include "proto/messages/training_rules.h"
#include "proto/messages/watch_lanes.h"
#include "proto/messages/width_share.h"

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

// Absent where nothing is required: such plans have the bytes that they always had.
flatbuffers::Offset<wire::DeviceRequirements> build(flatbuffers::FlatBufferBuilder& builder,
                                                    const DeviceRequirements& r) {
  if (r == DeviceRequirements{}) return 0;
  return wire::CreateDeviceRequirements(builder, r.idle, r.charging, r.unmetered, r.foreground, r.background,
                                        r.battery_percent_min, static_cast<uint8_t>(r.thermal_max),
                                        r.free_memory_bytes_min);
}

DeviceRequirements parse(const wire::DeviceRequirements& r) {
  return {.idle = r.idle(),
          .charging = r.charging(),
          .unmetered = r.unmetered(),
          .foreground = r.foreground(),
          .background = r.background(),
          .battery_percent_min = r.battery_percent_min(),
          .thermal_max = static_cast<ThermalState>(r.thermal_max()),
          .free_memory_bytes_min = r.free_memory_bytes_min()};
}

// What devices before 0.3 know has the bytes, and so the digests, that it always had. All else names its loss where
// they do not look: they would train something else, and refuse it so.
bool is_known_to_all(const TrainingSettings& t) {
  const TrainingSettings plain{.loss = t.loss,
                               .batch_size = t.batch_size,
                               .local_epochs = t.local_epochs,
                               .steps_max = t.steps_max,
                               .optimizer = {.kind = t.optimizer.kind,
                                             .learning_rate = t.optimizer.learning_rate,
                                             .momentum = t.optimizer.momentum,
                                             .weight_decay = t.optimizer.weight_decay,
                                             .beta1 = t.optimizer.beta1,
                                             .beta2 = t.optimizer.beta2,
                                             .epsilon = t.optimizer.epsilon}};
  return t == plain && t.loss <= Loss::mean_squared_error && t.optimizer.kind <= OptimizerKind::adam;
}

bool has_correction(const TrainingSettings& t) { return t.correction != DriftCorrection{} || t.normalised_steps != 0; }
bool has_target(const TrainingSettings& t) { return t.target != TargetKind::labels; }

flatbuffers::Offset<wire::Objective> build_objective(flatbuffers::FlatBufferBuilder& builder, const TrainingSettings& t,
                                                     bool is_later) {
  if (is_known_to_all(t) && !is_later) return 0;
  const auto weights = t.class_weights.empty() ? 0 : builder.CreateVector(t.class_weights);
  const auto freeze = t.freeze.empty() ? 0 : builder.CreateVectorOfStrings(t.freeze);
  const auto train_only = t.train_only.empty() ? 0 : builder.CreateVectorOfStrings(t.train_only);
  const bool is_elsewhere = has_correction(t) || has_target(t) || !t.augment.empty() || is_later;
  const uint8_t loss = is_elsewhere ? 0 : static_cast<uint8_t>(t.loss);
  return wire::CreateObjective(builder, loss, t.label_smoothing, t.loss_threshold, weights, freeze, train_only,
                               t.train_last, t.proximal_mu);
}

// Devices that know objectives and no corrections refuse an objective without a loss, as older ones a training
// without one.
flatbuffers::Offset<wire::Correction> build_correction(flatbuffers::FlatBufferBuilder& builder,
                                                       const TrainingSettings& t, bool is_later) {
  if (!has_correction(t)) return 0;
  const bool is_elsewhere = has_target(t) || !t.augment.empty() || is_later;
  const uint8_t loss = is_elsewhere ? 0 : static_cast<uint8_t>(t.loss);
  return wire::CreateCorrection(builder, loss, static_cast<uint8_t>(t.correction.kind), t.correction.alpha,
                                t.normalised_steps);
}

// Likewise of those that know corrections and no targets but labels.
flatbuffers::Offset<wire::Target> build_target(flatbuffers::FlatBufferBuilder& builder, const TrainingSettings& t,
                                               bool is_later) {
  if (!has_target(t)) return 0;
  const uint8_t loss = t.augment.empty() && !is_later ? static_cast<uint8_t>(t.loss) : 0;
  return wire::CreateTarget(builder, loss, static_cast<uint8_t>(t.target));
}

// Likewise of those that know all these and no augmentation.
flatbuffers::Offset<wire::Augment> build_augment(flatbuffers::FlatBufferBuilder& builder, const TrainingSettings& t,
                                                 bool is_later) {
  if (t.augment.empty()) return 0;
  const uint8_t loss = is_later ? 0 : static_cast<uint8_t>(t.loss);
  return wire::CreateAugment(builder, loss, builder.CreateString(t.augment));
}

// Likewise of those that know all these, and send every value.
flatbuffers::Offset<wire::Trained> build_trained(flatbuffers::FlatBufferBuilder& builder, const Plan& plan) {
  if (!plan.update.has_trained_alone()) return 0;
  const bool is_later =
      plan.training.early_stopping || !plan.update.scalars.empty() || plan.training.personal || plan.training.watch;
  const uint8_t loss = is_later ? 0 : static_cast<uint8_t>(plan.training.loss);
  flatbuffers::Offset<wire::Lora> lora = 0;
  if (const std::optional<LoraSettings>& l = plan.training.lora) {
    lora = wire::CreateLora(builder, l->rank, l->alpha, builder.CreateString(l->pattern), l->fixed_a_seed.value_or(0));
  }
  return wire::CreateTrained(builder, loss, plan.update.whole_value_count, lora);
}

// Likewise of those that know all these, and train on every example.
flatbuffers::Offset<wire::EarlyStopping> build_early_stopping(flatbuffers::FlatBufferBuilder& builder,
                                                              const TrainingSettings& t, bool has_scalars) {
  if (!t.early_stopping) return 0;
  const uint8_t loss = has_scalars || t.personal || t.watch ? 0 : static_cast<uint8_t>(t.loss);
  return wire::CreateEarlyStopping(builder, loss, t.early_stopping->validation_share, t.early_stopping->patience);
}

// Likewise of those that know all these, and whose updates have nothing behind them.
flatbuffers::Offset<wire::Scalars> build_scalars(flatbuffers::FlatBufferBuilder& builder, const Plan& plan) {
  const size_t count = plan.update.scalars.size() - watch_lanes_of(plan.update.scalars);
  if (count == 0) return 0;
  std::vector<flatbuffers::Offset<wire::Scalar>> scalars;
  for (const ScalarRule& scalar : std::span(plan.update.scalars).first(count)) {
    scalars.push_back(wire::CreateScalar(builder, static_cast<uint8_t>(scalar.kind), scalar.bound));
  }
  const bool is_later = plan.training.personal || plan.training.watch;
  const uint8_t loss = is_later ? 0 : static_cast<uint8_t>(plan.training.loss);
  return wire::CreateScalars(builder, loss, builder.CreateVector(scalars), plan.update.fair.q,
                             plan.update.fair.loss_max);
}

Status parse(const wire::Scalars& told, Plan& into) {
  if (static_cast<uint8_t>(into.training.loss) != 0) {
    return flat::out_of_range("loss", "must be 0 beside scalars, which say it");
  }
  if (told.scalars()->size() < 1 || told.scalars()->size() > kScalarsMax) {
    return flat::out_of_range("scalars", "must have 1 to " + std::to_string(kScalarsMax) + " entries");
  }
  into.training.loss = static_cast<Loss>(told.loss());
  for (const wire::Scalar* scalar : *told.scalars()) {
    into.update.scalars.push_back({static_cast<ScalarKind>(scalar->kind()), scalar->bound()});
  }
  into.update.fair = {.q = told.fair_q(), .loss_max = told.fair_loss_max()};
  return {};
}

// Likewise of those that know all these, and would send what is a device's own.
flatbuffers::Offset<wire::Personal> build_personal(flatbuffers::FlatBufferBuilder& builder, const TrainingSettings& t) {
  const uint8_t loss = t.watch ? 0 : static_cast<uint8_t>(t.loss);
  return t.personal ? flat::build(builder, *t.personal, loss) : 0;
}

// Behind all of them, and so is the loss.
Status parse(const wire::Personal& personal, TrainingSettings& into) {
  if (static_cast<uint8_t>(into.loss) != 0) {
    return flat::out_of_range("loss", "must be 0 beside personal, which says it");
  }
  into.loss = static_cast<Loss>(personal.loss());
  COT_ASSIGN(into.personal, flat::parse(personal));
  return {};
}

// Likewise of those that know all these, and would tell nothing of it.
flatbuffers::Offset<wire::Watch> build_watch(flatbuffers::FlatBufferBuilder& builder, const Plan& plan) {
  if (!plan.training.watch) return 0;
  return flat::build(builder, *plan.training.watch, plan.update.scalars.back().bound,
                     static_cast<uint8_t>(plan.training.loss));
}

// Its lanes follow from its checks, and their bound.
Status parse(const wire::Watch& watch, Plan& into) {
  if (static_cast<uint8_t>(into.training.loss) != 0) {
    return flat::out_of_range("loss", "must be 0 beside a watch, which says it");
  }
  into.training.loss = static_cast<Loss>(watch.loss());
  COT_ASSIGN(WatchSettings settings, flat::parse(watch));
  for (ScalarRule lane : watch_scalars(settings)) {
    if (watch.bound() != 0) lane.bound = watch.bound();
    into.update.scalars.push_back(lane);
  }
  into.training.watch = std::move(settings);
  return {};
}

// Ranges are for validate(plan) to judge.
flatbuffers::Offset<wire::Qat> build_qat(flatbuffers::FlatBufferBuilder& builder, const TrainingSettings& t) {
  if (!t.qat) return 0;
  return wire::CreateQat(builder, static_cast<uint8_t>(t.qat->parts), static_cast<uint8_t>(t.qat->weight_bits));
}

// Behind those before.
Status parse(const wire::EarlyStopping& stopping, TrainingSettings& into) {
  if (static_cast<uint8_t>(into.loss) != 0) {
    return flat::out_of_range("loss", "must be 0 beside early_stopping, which says it");
  }
  into.loss = static_cast<Loss>(stopping.loss());
  into.early_stopping = {stopping.validation_share(), stopping.patience()};
  return {};
}

// Behind the others, whose loss it says.
Status parse(const wire::Trained& trained, Plan& into) {
  if (static_cast<uint8_t>(into.training.loss) != 0) {
    return flat::out_of_range("loss", "must be 0 beside trained values, which say it");
  }
  if (trained.whole_values() == 0) return flat::out_of_range("whole_values", "must be above 0");
  into.training.loss = static_cast<Loss>(trained.loss());
  into.update.whole_value_count = trained.whole_values();
  const wire::Lora* const l = trained.lora();
  if (l == nullptr) return {};
  COT_ASSIGN(std::string pattern, flat::text(l->pattern(), "pattern", kLoraPatternBytesMax, 1));
  into.training.lora = {
      .rank = l->rank(), .alpha = l->alpha(), .pattern = std::move(pattern), .fixed_a_seed = l->fixed_a_seed()};
  return {};
}

using FlatStrings = flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>;

Result<std::vector<std::string>> parse_patterns(const FlatStrings* from, const char* name) {
  std::vector<std::string> patterns;
  if (from == nullptr) return patterns;
  if (from->size() > kPatternsMax) return flat::out_of_range(name, "has too many patterns");
  for (const flatbuffers::String* pattern : *from) {
    COT_ASSIGN(std::string text, flat::text(pattern, name, kPatternBytesMax, 1));
    patterns.push_back(std::move(text));
  }
  return patterns;
}

Status parse(const wire::Objective& objective, TrainingSettings& into) {
  into.loss = static_cast<Loss>(objective.loss());
  into.label_smoothing = objective.label_smoothing();
  into.loss_threshold = objective.loss_threshold();
  if (const auto* weights = objective.class_weights(); weights != nullptr) {
    if (weights->size() > kClassWeightsMax) return flat::out_of_range("class_weights", "has too many entries");
    into.class_weights.assign(weights->begin(), weights->end());
  }
  COT_ASSIGN(into.freeze, parse_patterns(objective.freeze(), "freeze"));
  COT_ASSIGN(into.train_only, parse_patterns(objective.train_only(), "train_only"));
  into.train_last = objective.train_last();
  into.proximal_mu = objective.proximal_mu();
  return {};
}

// Behind the objective, whose loss it says.
Status parse(const wire::Correction& correction, TrainingSettings& into) {
  if (static_cast<uint8_t>(into.loss) != 0) {
    return flat::out_of_range("loss", "must be 0 beside a correction, which says it");
  }
  into.loss = static_cast<Loss>(correction.loss());
  into.correction = {static_cast<CorrectionKind>(correction.kind()), correction.alpha()};
  into.normalised_steps = correction.normalised_steps();
  return {};
}

// Behind both, whose loss it says.
Status parse(const wire::Target& target, TrainingSettings& into) {
  if (static_cast<uint8_t>(into.loss) != 0) {
    return flat::out_of_range("loss", "must be 0 beside a target, which says it");
  }
  into.loss = static_cast<Loss>(target.loss());
  into.target = static_cast<TargetKind>(target.kind());
  return {};
}

// Behind those three.
Status parse(const wire::Augment& augment, TrainingSettings& into) {
  if (static_cast<uint8_t>(into.loss) != 0) {
    return flat::out_of_range("loss", "must be 0 beside an augmentation, which says it");
  }
  into.loss = static_cast<Loss>(augment.loss());
  COT_ASSIGN(into.augment, flat::text(augment.text(), "augment", kAugmentBytesMax, 1));
  return {};
}

flatbuffers::Offset<wire::Download> build(flatbuffers::FlatBufferBuilder& builder, const DownloadRules& message) {
  if (!message.has_deltas()) return 0;
  std::vector<flatbuffers::Offset<wire::Delta>> deltas;
  for (const DeltaFile& delta : message.deltas) {
    const wire::Digest32 base = flat::digest(delta.base), file = flat::digest(delta.file);
    deltas.push_back(wire::CreateDelta(builder, &base, &file, delta.bytes));
  }
  const auto list = deltas.empty() ? flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<wire::Delta>>>(0)
                                   : builder.CreateVector(deltas);
  return wire::CreateDownload(builder, static_cast<uint8_t>(message.bits), list);
}

Result<DownloadRules> parse(const wire::Download& download) {
  DownloadRules rules{.bits = download.bits(), .deltas = {}};
  if (download.deltas() == nullptr) return rules;
  if (download.deltas()->size() > kDeltaChainMax) return flat::out_of_range("download", "has too many deltas");
  for (const wire::Delta* delta : *download.deltas()) {
    rules.deltas.push_back({flat::digest(*delta->base()), flat::digest(*delta->file()), delta->bytes()});
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
                                               o.weight_decay, o.beta1, o.beta2, o.epsilon, o.smoothing, o.nesterov);
  const TrainingSettings& t = message.training;
  // Whether a table behind that of the augmentation has the loss.
  const bool has_scalars = !message.update.scalars.empty();
  const bool is_later = message.update.has_trained_alone() || t.early_stopping || has_scalars || t.personal || t.watch;
  const bool is_training = !message.analytics.has_value();  // else no table has a loss
  const auto objective = build_objective(builder, t, is_later);
  const uint8_t loss = objective.IsNull() && is_training ? static_cast<uint8_t>(t.loss) : 0;
  const auto training = wire::CreateTraining(
      builder, loss, t.batch_size, t.local_epochs, t.steps_max, optimizer, objective,
      build_correction(builder, t, is_later), build_target(builder, t, is_later), build_augment(builder, t, is_later),
      build_trained(builder, message), build_early_stopping(builder, t, has_scalars), static_cast<uint8_t>(t.storage),
      build_scalars(builder, message), build_personal(builder, t),
      t.widths.empty() ? 0 : builder.CreateVector(t.widths), build_watch(builder, message), build_qat(builder, t),
      t.ignore_label ? flatbuffers::Optional<int32_t>(*t.ignore_label) : flatbuffers::nullopt,
      flat::build(builder, t.heads));
  const FixedPointSpec& f = message.update.fixed_point;
  const auto fixed_point =
      wire::CreateFixedPoint(builder, f.lane_bits, f.fraction_bits, f.value_abs_max, f.weight_max, f.contributors_max);
  flatbuffers::Offset<wire::Quantization> quantization = 0;
  if (const QuantizationRules& q = message.update.quantization; q != QuantizationRules{}) {
    quantization = wire::CreateQuantization(builder, static_cast<uint8_t>(q.bits), q.rotated, q.contributors_max);
  }
  flatbuffers::Offset<wire::Clip> clip = 0;
  if (const ClipRules& c = message.update.clip; c != ClipRules{}) clip = wire::CreateClip(builder, c.clip_norm, c.bit);
  flatbuffers::Offset<wire::TopK> top_k = 0;
  if (const TopKRules& k = message.update.top_k; k != TopKRules{}) {
    top_k = wire::CreateTopK(builder, k.sent_count, static_cast<uint8_t>(k.bits), k.has_error_feedback);
  }
  const auto update = wire::CreateUpdateRules(builder, static_cast<uint8_t>(message.update.encoding),
                                              message.update.value_count, message.update.clip_l2, fixed_point,
                                              quantization, clip, message.update.control_value_count, top_k);
  const auto privacy = build(builder, message.privacy);
  const auto ledger = flat::build(builder, message.ledger);
  flatbuffers::Offset<wire::Log> log = 0;
  if (message.log) log = flat::build(builder, *message.log);
  const auto device_requirements = build(builder, message.device_requirements);
  const wire::Digest32 control = flat::digest(message.control.value_or(Digest{}));
  flatbuffers::Offset<wire::Staleness> staleness = 0;
  if (const StalenessRules& s = message.staleness; s != StalenessRules{}) {
    staleness = wire::CreateStaleness(builder, s.versions_max, s.exponent);
  }
  const auto download = build(builder, message.download);
  const auto analytics = message.analytics ? flat::build(builder, *message.analytics) : 0;
  builder.Finish(wire::CreatePlan(builder, job, training, update, privacy, ledger, log, device_requirements,
                                  message.control ? &control : nullptr, staleness, download, analytics));
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
                                 .epsilon = o.epsilon(),
                                 .smoothing = o.smoothing(),
                                 .nesterov = o.nesterov()}};
  if (t.objective() != nullptr) {
    if (t.loss() != 0) return flat::out_of_range("loss", "must be 0 beside an objective, which says it");
    COT_TRY(parse(*t.objective(), plan.training));
  }
  if (t.correction() != nullptr) COT_TRY(parse(*t.correction(), plan.training));
  if (t.target() != nullptr) COT_TRY(parse(*t.target(), plan.training));
  if (t.augment() != nullptr) COT_TRY(parse(*t.augment(), plan.training));
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
  if (const wire::Quantization* q = u.quantization(); q != nullptr) {
    plan.update.quantization = {.bits = q->bits(), .rotated = q->rotated(), .contributors_max = q->contributors_max()};
  }
  if (const wire::Clip* c = u.clip(); c != nullptr) {
    plan.update.clip = {.clip_norm = c->clip_norm(), .bit = c->bit()};
  }
  plan.update.control_value_count = u.control_values();
  if (const wire::TopK* k = u.top_k(); k != nullptr) {
    plan.update.top_k = {.sent_count = k->sent_count(), .bits = k->bits(), .has_error_feedback = k->error_feedback()};
  }
  if (t.trained() != nullptr) COT_TRY(parse(*t.trained(), plan));
  if (t.early_stopping() != nullptr) COT_TRY(parse(*t.early_stopping(), plan.training));
  if (t.scalars() != nullptr) COT_TRY(parse(*t.scalars(), plan));
  if (t.personal() != nullptr) COT_TRY(parse(*t.personal(), plan.training));
  if (const auto* widths = t.widths(); widths != nullptr) {
    if (widths->size() < kWidthsMin || widths->size() > kWidthsMax) {
      return flat::out_of_range("widths", "must have 2 to 8 entries");
    }
    plan.training.widths.assign(widths->begin(), widths->end());
  }
  if (t.watch() != nullptr) COT_TRY(parse(*t.watch(), plan));
  plan.training.storage = static_cast<Storage>(t.storage());
  if (const wire::Qat* q = t.qat(); q != nullptr) {
    plan.training.qat = {.parts = static_cast<QuantisedParts>(q->parts()), .weight_bits = q->weight_bits()};
  }
  if (const auto label = t.ignore_label(); label.has_value()) plan.training.ignore_label = *label;
  if (t.heads() != nullptr) {
    COT_ASSIGN(plan.training.heads, flat::parse(*t.heads()));
  }
  if (root->privacy() != nullptr) plan.privacy = parse(*root->privacy());
  plan.ledger = flat::parse(root->ledger());
  if (root->log() != nullptr) {
    COT_ASSIGN(plan.log, flat::parse(*root->log()));
  }
  if (root->device_requirements() != nullptr) plan.device_requirements = parse(*root->device_requirements());
  if (root->control() != nullptr) plan.control = flat::digest(*root->control());
  if (const wire::Staleness* s = root->staleness(); s != nullptr) plan.staleness = {s->versions_max(), s->exponent()};
  if (root->download() != nullptr) {
    COT_ASSIGN(plan.download, parse(*root->download()));
  }
  if (root->analytics() != nullptr) {
    // Behind the training, which says nothing beside it.
    if (static_cast<uint8_t>(plan.training.loss) != 0) return flat::out_of_range("loss", "must be 0 beside analytics");
    plan.training.loss = TrainingSettings().loss;
    COT_ASSIGN(plan.analytics, flat::parse(*root->analytics()));
  }
  if (Status valid = validate(plan); !valid) return Error(ErrorCode::malformed, valid.error().message());
  return plan;
}

}  // namespace coterie
