#include "device_sdk/runtime/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/os/file.h"
#include "base/os/temporary_file.h"
#include "base/text/concat.h"
#include "device_sdk/runtime/left_out.h"
#include "device_sdk/runtime/sealed_text.h"
#include "proto/codec/codec.h"
#include "proto/codec/frame.h"
#include "proto/codec/limits.h"
#include "secure/crypto/digest.h"

namespace coterie {
namespace {

constexpr uint32_t kSlotsMax = 2;
constexpr uint64_t kFactorVectorsMax = 9;  // shampoo's factors, as vectors of the model's length (shampoo_step.h)
constexpr size_t kTrailerBytes = sizeof(Digest::bytes);

Error not_ours(std::string_view what) { return Error(ErrorCode::conflict, concat({"checkpoint: ", what})); }
Error damaged(std::string_view what) { return Error(ErrorCode::data_loss, concat({"checkpoint: ", what})); }

template <typename T>
ByteView bytes_of(std::span<T> values) {
  return {reinterpret_cast<const uint8_t*>(values.data()), values.size_bytes()};
}

// The frame in a file whose checksum is right.
Result<Bytes> frame_of(Bytes contents, const TrainerState& state) {
  const AuthenticatedCipher* cipher = state.options.checkpoint_cipher.get();
  // A key and a file in the clear do not go together: otherwise whoever can write the file could put weights of their
  // own in.
  if (!is_sealed(contents)) {
    if (cipher != nullptr) return not_ours("is not encrypted, and a key is given");
    return contents;
  }
  if (!kHasEncryption || cipher == nullptr) {
    return Error(ErrorCode::permission_denied, "checkpoint: is encrypted, and no key is given");
  }
  Result<Bytes> opened = open_sealed(std::move(contents), *cipher, state.model.digest());
  if (!opened) return opened.error().with_context("checkpoint");
  return opened;
}

ValidationProgress progress_of(const TrainerState& state) {
  return state.validation ? state.validation->progress() : ValidationProgress{};
}

uint64_t payload_bytes(const TrainerState& state) {
  const uint64_t vectors = 1 + state.slots() + (progress_of(state).best_step > 0 ? 1 : 0);
  return state.model.value_count() * sizeof(float) * vectors + state.region(Region::factors).size_bytes() +
         state.order.size() * sizeof(uint32_t) + state.region(Region::ranges).size_bytes();
}

std::vector<HeadState> heads_of(const TrainerState& state) {
  std::vector<HeadState> heads;
  for (const HeadTotals& head : state.heads) {
    heads.push_back({head.loss_sum, head.absolute_error, head.correct, head.ignored});
  }
  return heads;
}

CheckpointHeader header_of(const TrainerState& state) {
  return {.model = state.model.digest(),
          .step = state.step,
          .epoch = state.epoch,
          .position = state.position,
          .random = state.random.state(),
          .optimizer_step = state.optimizer_step(),
          .slots = state.slots(),
          .value_bytes = state.model.value_count() * sizeof(float),
          .examples = state.order.size(),
          .loss_sum = state.loss_sum,
          .correct = state.correct,
          .seen = state.seen,
          .epoch_loss_start = state.epoch_loss_start,
          .plateau_best = state.plateau.best,
          .plateau_epochs_seen = state.plateau.epochs_seen,
          .plateau_epochs_without_progress = state.plateau.epochs_without_progress,
          .plateau_factor = state.plateau.factor,
          .seed = state.options.seed,
          .loss_scale = state.loss_scale.scale,
          .good_steps = state.loss_scale.good_steps,
          .epoch_correct_start = state.epoch_correct_start,
          .ignored = state.ignored,
          .epoch_ignored_start = state.epoch_ignored_start,
          .training = state.identity(),
          .validation_step = progress_of(state).step,
          .best_step = progress_of(state).best_step,
          .best_loss = progress_of(state).best_loss,
          .checks_without_gain = progress_of(state).checks_without_gain,
          .factor_bytes = state.region(Region::factors).size_bytes(),
          .range_values = static_cast<uint32_t>(state.region(Region::ranges).size()),
          .heads = heads_of(state)};
}

// What this optimizer keeps, in order.
std::vector<Region> optimizer_regions(const TrainerState& state) {
  std::vector<Region> regions;
  if (state.slots() > 0) regions.push_back(Region::slot0);
  if (state.slots() > 1) regions.push_back(Region::slot1);
  regions.push_back(Region::factors);  // of most optimizers none
  return regions;
}

// Whether it is of this training: of the same options, loss and data, to the bit.
Status check_identity(const CheckpointHeader& header, const TrainerState& state) {
  if (header.training.empty()) {
    return Error(ErrorCode::unsupported_version,
                 "checkpoint: was written by a version before 0.3, which did not say of which training it is; "
                 "training has to begin anew");
  }
  const std::string here = state.identity();
  if (header.training != here) {
    return not_ours(concat({"is of another training; not the same: ", identity_difference(header.training, here)}));
  }
  return {};
}

// The decoder has seen that best_step <= validation_step <= step.
Status check_validation(const CheckpointHeader& header, const TrainerState& state) {
  if (!state.validation) {
    const bool has_none = header.validation_step == 0 && header.checks_without_gain == 0;
    return has_none ? Status() : damaged("was held against examples that nobody holds out");
  }
  if (header.checks_without_gain > state.options.early_stopping->patience) return damaged("went on without patience");
  return {};
}

Status check_heads(const CheckpointHeader& header, const TrainerState& state) {
  if (header.heads.size() != state.heads.size()) return damaged("has other heads");
  for (size_t i = 0; i < header.heads.size(); ++i) {
    const uint64_t rows = header.seen * state.whole.compiled.heads[i].rows;
    const HeadState& head = header.heads[i];
    if (head.ignored > rows || head.correct > rows - head.ignored)
      return damaged("has a head with more rows than seen");
  }
  return {};
}

// Everything that training could not have brought about with these settings.
Status check_header(const CheckpointHeader& header, const TrainerState& state) {
  const uint64_t examples = state.order.size(), batch = state.batch_size;
  if (header.model != state.model.digest()) return not_ours("is of another model");
  COT_TRY(check_identity(header, state));  // before the examples: what is held out makes them fewer
  if (header.examples != examples) {
    return not_ours(concat({"is of ", header.examples, " examples, here are ", examples}));
  }
  if (header.slots != state.slots() || header.factor_bytes != state.region(Region::factors).size_bytes()) {
    return damaged("has not its optimizer's state");
  }
  if (header.value_bytes != state.model.value_count() * sizeof(float)) return not_ours("has other parameters");
  if (header.range_values != state.region(Region::ranges).size()) return damaged("has other ranges of activations");
  const uint64_t steps_an_epoch = (examples + batch - 1) / batch;
  // All these numbers follow from each other. A file whose numbers do not was not written by this training.
  if (header.epoch > state.options.epochs || header.position >= examples || header.position % batch != 0 ||
      header.step != header.epoch * steps_an_epoch + header.position / batch ||
      header.seen != header.epoch * examples + header.position || header.optimizer_step > header.step ||
      (header.loss_scale == 0 && header.optimizer_step != header.step)) {
    return not_ours("is of another batch size or number of epochs");
  }
  if ((header.loss_scale > 0) != state.options.loss_scaling.is_on()) return not_ours("is of another loss scaling");
  if (header.correct / state.rows_an_example > header.seen) return damaged("has more right answers than examples");
  if ((header.correct - header.epoch_correct_start) / state.rows_an_example > header.position) {
    return damaged("has more right answers than examples in its epoch");
  }
  const uint64_t rows = header.seen * state.rows_an_example;
  if (header.ignored > rows - std::min(rows, header.correct) ||
      (header.ignored > 0 && !state.options.loss.ignore_label)) {
    return damaged("ignores more rows than there are");
  }
  const uint64_t rows_before = rows - header.position * state.rows_an_example;
  if (header.epoch_ignored_start > rows_before - std::min(rows_before, header.epoch_correct_start)) {
    return damaged("ignores more rows than there are before its epoch");
  }
  if (header.random == Prng::State{}) return damaged("has no random state");
  COT_TRY(check_heads(header, state));
  return check_validation(header, state);
}

Status check_order(std::span<const uint32_t> order) {
  std::vector<bool> seen(order.size());
  for (const uint32_t index : order) {
    if (index >= order.size() || seen[index]) return damaged("its order is not a permutation of the examples");
    seen[index] = true;
  }
  return {};
}

// A checkpoint of another optimizer may be larger, and is to be named as such: two slots and such factors is what any
// keeps.
Result<Bytes> read_within(const std::string& path, const TrainerState& state) {
  const uint64_t vectors = kSlotsMax - state.slots() + kFactorVectorsMax + 1;  // and the best
  const uint64_t more = state.model.value_count() * sizeof(float) * vectors;
  const uint64_t frame_bytes_max = kPreludeBytes + limits::kWireHeaderBytesMax + payload_bytes(state) + more;
  Result<Bytes> file = os::read_file(path, sealed_bytes(frame_bytes_max) + kTrailerBytes);
  if (!file && file.error().code() == ErrorCode::too_large) {
    return not_ours(concat({"is larger than any of this model with ", state.order.size(), " examples"}));
  }
  return file;
}

// What is another file altogether is told as that, not as damage.
Error not_whole(ByteView file) {
  const Result<Prelude> prelude = parse_prelude(file);
  if (!prelude || prelude->kind == FrameKind::checkpoint)
    return damaged("fails its checksum: damaged, or no checkpoint");
  return not_ours(concat({"is a file of kind ", to_string(prelude->kind), "; name one that a training has saved"}));
}

}  // namespace

Status write_checkpoint(const TrainerState& state, const std::string& path) {
  COT_ASSIGN(os::AtomicFile file, os::AtomicFile::create(path));
  ContentDigester digester;
  const auto write_out = [&](ByteView bytes) -> Status {
    digester.update(bytes);
    return file.write(bytes);
  };
  const Bytes head = encode_head(header_of(state), payload_bytes(state));
  std::optional<Sealer> sealer;
  if (kHasEncryption && state.options.checkpoint_cipher) {
    sealer.emplace(*state.options.checkpoint_cipher, state.model.digest(), head.size() + payload_bytes(state),
                   write_out);
  }
  const auto write = [&](ByteView bytes) { return kHasEncryption && sealer ? sealer->write(bytes) : write_out(bytes); };
  COT_TRY(write(head));
  COT_TRY(write(bytes_of(state.region(Region::parameters))));
  for (const Region region : optimizer_regions(state)) COT_TRY(write(bytes_of(state.region(region))));
  COT_TRY(write(bytes_of(std::span(state.order))));
  if (progress_of(state).best_step > 0) COT_TRY(write(bytes_of(state.validation->best())));
  if (const auto ranges = state.region(Region::ranges); !ranges.empty()) COT_TRY(write(bytes_of(ranges)));
  if (kHasEncryption && sealer) COT_TRY(sealer->finish());
  // The digest stands behind the content, as it is known only then: the file is written once, from front to back.
  const Digest digest = digester.finish();
  COT_TRY(file.write(digest.view()));
  return file.commit();
}

Status read_checkpoint(const std::string& path, TrainerState& state) {
  os::remove_abandoned(path);  // of the process that this one goes on for; it may end before it writes
  COT_ASSIGN(Bytes file, read_within(path, state));
  if (file.size() < kTrailerBytes) return damaged(concat({"has ", file.size(), " bytes: damaged, or no checkpoint"}));
  const Digest digest = content_digest(ByteView(file).first(file.size() - kTrailerBytes));
  if (!std::equal(digest.bytes.begin(), digest.bytes.end(), file.end() - kTrailerBytes)) {
    return not_whole(file);
  }
  file.resize(file.size() - kTrailerBytes);
  COT_ASSIGN(const Bytes frame, frame_of(std::move(file), state));
  COT_ASSIGN(const Decoded<CheckpointHeader> decoded, decode_checkpoint(frame));
  const CheckpointHeader& header = decoded.header;
  COT_TRY(check_header(header, state));
  const size_t slots = state.slots(), values = header.value_bytes;
  const size_t order_bytes = header.examples * sizeof(uint32_t);
  const size_t optimizer_end = values * (1 + slots) + header.factor_bytes;
  const auto order = payload_as<uint32_t>(decoded.payload.subspan(optimizer_end, order_bytes));
  const size_t range_bytes = header.range_values * sizeof(float);
  const ByteView behind = decoded.payload.subspan(optimizer_end + order_bytes);
  const auto best = payload_as<float>(behind.first(behind.size() - range_bytes));
  const auto ranges = payload_as<float>(behind.last(range_bytes));
  // Indices from a file go to the data source: each must be one of its examples, and each example comes once an epoch.
  COT_TRY(check_order(order));

  // Payload: parameters [values] | optimizer slots [values] each | factors | order [examples] | best parameters
  // [values], if any | ranges of activations.
  // Nothing of the state was changed before here, so that a bad file leaves the training as it was.
  std::memcpy(state.region(Region::parameters).data(), decoded.payload.data(), values);
  state.prepared.forget();
  size_t offset = values;
  for (const Region region : optimizer_regions(state)) {
    const std::span<float> kept = state.region(region);
    if (!kept.empty()) std::memcpy(kept.data(), decoded.payload.data() + offset, kept.size_bytes());
    offset += kept.size_bytes();
  }
  std::copy(order.begin(), order.end(), state.order.begin());
  std::copy(ranges.begin(), ranges.end(), state.region(Region::ranges).begin());
  state.random = Prng::from_state(header.random);
  state.epoch = header.epoch;
  state.position = header.position;
  state.step = header.step;
  state.seen = header.seen;
  state.correct = header.correct;
  state.ignored = header.ignored;
  state.epoch_ignored_start = header.epoch_ignored_start;
  std::ranges::transform(header.heads, state.heads.begin(), [](const HeadState& head) {
    return HeadTotals{head.loss_sum, head.absolute_error, head.correct, head.ignored};
  });
  state.loss_sum = header.loss_sum;
  state.epoch_loss_start = header.epoch_loss_start;
  state.epoch_correct_start = header.epoch_correct_start;
  state.plateau = {header.plateau_best, header.plateau_epochs_seen, header.plateau_epochs_without_progress,
                   header.plateau_factor};
  state.options.seed = header.seed;
  state.skipped = header.step - header.optimizer_step;
  state.loss_scale = {header.loss_scale, header.good_steps};
  if (state.validation) {
    state.validation->restore({header.validation_step, header.best_step, header.best_loss, header.checks_without_gain},
                              best);
  }
  return {};
}

}  // namespace coterie
