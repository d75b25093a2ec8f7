#include "device_sdk/runtime/delegate/training_runner.h"

#include <bit>
#include <cstring>
#include <utility>

#include "device_sdk/runtime/delegate/fence.h"
#include "device_sdk/runtime/delegate/gradient_check.h"
#include "device_sdk/runtime/shape_inference.h"

namespace coterie {
namespace {

constexpr const char* kGivenUp = "a delegate's part was given up";

Error given_up(const std::string& what) { return {ErrorCode::refused, what}; }

std::vector<float*> pointers_of(std::vector<GuardedBuffer>& lent) {
  std::vector<float*> pointers;
  for (GuardedBuffer& buffer : lent) pointers.push_back(buffer.data());
  return pointers;
}

}  // namespace

TrainingRunner::TrainingRunner(Model model, PlannedPart part, Settings settings)
    : model_(std::move(model)), part_(std::move(part)), settings_(std::move(settings)) {
  forward_.runner = backward_.runner = this;
}

Result<std::shared_ptr<TrainingRunner>> TrainingRunner::create(const Model& model, Delegate& delegate,
                                                               const PlannedPart& part, Settings settings) {
  COT_ASSIGN(const InferredTypes inferred, infer_types(model.graph(), settings.batch_size));
  std::shared_ptr<TrainingRunner> runner(new TrainingRunner(model, part, std::move(settings)));
  for (size_t group = 0; group < kGroups; ++group) {
    for (const uint32_t tensor : runner->tensors(group)) {
      runner->elements_.push_back(elements(inferred.types[tensor].shape));
    }
  }
  COT_TRY(fenced([&]() -> Status {
    COT_ASSIGN(runner->device_, DeviceBuffers::create(delegate, runner->elements_));
    const DelegatePart given{
        .model = {model.graph(), inferred.types, model.parameters(), &runner->settings_.is_trained},
        .ops = part.ops,
        .inputs = part.inputs,
        .outputs = part.outputs,
        .threads = runner->settings_.threads,
        .parameters = part.parameters,
        .output_gradients = part.output_gradients,
        .gradients = part.gradients};
    COT_ASSIGN(runner->compiled_, delegate.compile_training(given));
    if (runner->compiled_ == nullptr) return given_up("it has compiled nothing");
    return {};
  }));
  return runner;
}

// The part goes before its buffers do.
TrainingRunner::~TrainingRunner() {
  const Status released = fenced([&]() -> Status {
    compiled_.reset();
    return {};
  });
  (void)released;  // nobody is left to hear of it
}

std::shared_ptr<ExternalStep> TrainingRunner::forward_step(const std::shared_ptr<TrainingRunner>& runner) {
  return {runner, &runner->forward_};
}

std::shared_ptr<ExternalStep> TrainingRunner::backward_step(const std::shared_ptr<TrainingRunner>& runner) {
  return {runner, &runner->backward_};
}

const std::vector<uint32_t>& TrainingRunner::tensors(size_t group) const {
  const std::vector<uint32_t>* const lists[kGroups] = {&part_.inputs, &part_.parameters, &part_.outputs,
                                                       &part_.output_gradients, &part_.gradients};
  return *lists[group];
}

size_t TrainingRunner::first(size_t group) const {
  size_t at = 0;
  for (size_t i = 0; i < group; ++i) at += tensors(i).size();
  return at;
}

const char* TrainingRunner::Forward::run(float* const* buffers) {
  if (!runner->refusal_.empty()) return kGivenUp;
  const Status done = fenced([&] { return runner->forward(buffers); });
  if (done) return nullptr;
  runner->refusal_ = done.error().message();
  return kGivenUp;
}

const char* TrainingRunner::Backward::run(float* const* buffers) {
  if (!runner->refusal_.empty()) return kGivenUp;
  const Status done = fenced([&] { return runner->backward(buffers); });
  if (done) return nullptr;
  runner->refusal_ = "in backward: " + done.error().message();
  return kGivenUp;
}

// The first, the second, the fourth, ...; and again behind gradients that differed.
bool TrainingRunner::is_due() const { return !unsettled_.empty() || std::has_single_bit(copies_.runs); }

Status TrainingRunner::forward(float* const* buffers) {
  ++copies_.runs;
  checks_batch_ = is_due();
  checks_ += checks_batch_ ? 1 : 0;
  return checks_batch_ ? verify_forward(buffers) : call(true, buffers);
}

Status TrainingRunner::backward(float* const* buffers) {
  return checks_batch_ ? verify_backward(buffers) : call(false, buffers);
}

// Copies between guards of the buffers of the first `groups`, of which the last, `written`, is left to be filled.
TrainingRunner::Lent TrainingRunner::lend(float* const* buffers, size_t groups, size_t written) const {
  Lent lent;
  for (size_t i = 0; i < first(groups); ++i) {
    lent.emplace_back(elements_[i]);
    if (i < first(written)) std::memcpy(lent[i].data(), buffers[i], elements_[i] * sizeof(float));
  }
  return lent;
}

Status TrainingRunner::check_lent(const Lent& lent, float* const* buffers, size_t written) const {
  for (size_t group = 0; group <= written; ++group) {
    for (size_t i = first(group); i < first(group + 1); ++i) {
      const bool is_gradient = group >= kOutputGradients;
      const std::string name = (is_gradient ? "the gradient of tensor " : "tensor ") +
                               model_.graph().tensors[tensors(group)[i - first(group)]].name;
      if (!lent[i].has_guards()) return given_up("it has written beyond the buffer of " + name);
      if (group == written) continue;
      if (std::memcmp(lent[i].view().data(), buffers[i], elements_[i] * sizeof(float)) == 0) continue;
      return given_up("it has written into " + name + ", which it only reads");
    }
  }
  return {};
}

// The model's flat vector, as far as the part has to do with it.
std::vector<float> TrainingRunner::present_values(float* const* buffers) const {
  std::vector<float> values(model_.parameters().begin(), model_.parameters().end());
  for (size_t i = 0; i < part_.parameters.size(); ++i) {
    const size_t at = first(kParameters) + i;
    const uint64_t offset = model_.graph().tensors[part_.parameters[i]].payload_offset;
    std::memcpy(values.data() + offset / sizeof(float), buffers[at], elements_[at] * sizeof(float));
  }
  return values;
}

std::vector<std::span<const float>> TrainingRunner::views(float* const* buffers, size_t group) const {
  std::vector<std::span<const float>> views;
  for (size_t i = first(group); i < first(group + 1); ++i) views.emplace_back(buffers[i], elements_[i]);
  return views;
}

Status TrainingRunner::verify_forward(float* const* buffers) {
  Lent lent = lend(buffers, kOutputGradients, kOutputs);
  const std::vector<float*> pointers = pointers_of(lent);
  COT_TRY(call(true, pointers.data()));
  COT_TRY(check_lent(lent, buffers, kOutputs));
  COT_ASSIGN(const Model present, Model::load(model_.file_with(present_values(buffers))));
  COT_ASSIGN(verified_, verify_part(present, part_, settings_.batch_size, views(buffers, kInputs),
                                    views(pointers.data(), kOutputs)));
  for (size_t i = first(kOutputs); i < lent.size(); ++i) {
    std::memcpy(buffers[i], pointers[i], elements_[i] * sizeof(float));
  }
  return {};
}

Status TrainingRunner::verify_backward(float* const* buffers) {
  Lent lent = lend(buffers, kGroups, kGradients);
  const std::vector<float*> pointers = pointers_of(lent);
  COT_TRY(call(false, pointers.data()));
  COT_TRY(check_lent(lent, buffers, kGradients));
  COT_ASSIGN(const GradientCheck check,
             check_gradients(model_, part_, settings_.batch_size, present_values(buffers), views(buffers, kInputs),
                             views(buffers, kOutputGradients), views(pointers.data(), kGradients)));
  unsettled_ = check.mismatch;
  const bool is_unsettled = !unsettled_.empty();
  gradient_failures_ = is_unsettled ? gradient_failures_ + 1 : 0;
  if (gradient_failures_ == kGradientTries) {
    return given_up(check.mismatch + "; so were others in " + std::to_string(kGradientTries - 1) + " batches before");
  }
  if (!is_unsettled) gradients_ = check.nearest;
  for (size_t i = 0; i < part_.gradients.size(); ++i) {
    const size_t at = first(kGradients) + i;
    const float* const from = is_unsettled ? check.own[i].data() : pointers[at];
    std::memcpy(buffers[at], from, elements_[at] * sizeof(float));
  }
  return {};
}

// On a device, what forward has put there is there in backward.
Status TrainingRunner::call(bool is_forward, float* const* buffers) {
  const bool is_on_device = !device_.empty();
  const size_t end = first(is_forward ? kOutputGradients : kGroups);
  const size_t first_given = first(is_forward ? kInputs : kOutputGradients);
  const size_t first_made = first(is_forward ? kOutputs : kGradients);
  if (is_on_device) COT_TRY(device_.write(first_given, first_made, buffers, copies_));
  const std::vector<void*> host(buffers, buffers + end);
  const std::span<void* const> given = is_on_device ? device_.pointers().first(end) : host;
  const auto of = [&](size_t group) {
    return first(group + 1) > end ? std::span<void* const>() : given.subspan(first(group), tensors(group).size());
  };
  const TrainingBuffers all{of(kInputs), of(kParameters), of(kOutputs), of(kOutputGradients), of(kGradients)};
  COT_TRY(is_forward ? compiled_->forward(all) : compiled_->backward(all));
  if (is_on_device) COT_TRY(device_.read(first_made, end, buffers, copies_));
  return {};
}

}  // namespace coterie
