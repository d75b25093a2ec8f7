#include "device_sdk/runtime/delegate/part_runner.h"

#include <cstring>

#include "device_sdk/runtime/delegate/fence.h"
#include "device_sdk/runtime/delegate/guarded_buffer.h"
#include "device_sdk/runtime/shape_inference.h"

namespace coterie {
namespace {

constexpr const char* kGivenUp = "a delegate's part was given up";
Error given_up(const std::string& what) { return {ErrorCode::refused, what}; }

}  // namespace

PartRunner::PartRunner(Model model, PlannedPart part, uint32_t batch_size)
    : model_(std::move(model)), part_(std::move(part)), batch_size_(batch_size) {}

Result<std::shared_ptr<PartRunner>> PartRunner::create(const Model& model, Delegate& delegate, const PlannedPart& part,
                                                       uint32_t batch_size, uint32_t threads) {
  COT_ASSIGN(const InferredTypes inferred, infer_types(model.graph(), batch_size));
  std::shared_ptr<PartRunner> runner(new PartRunner(model, part, batch_size));
  for (const auto* list : {&part.inputs, &part.outputs}) {
    for (const uint32_t tensor : *list) runner->elements_.push_back(elements(inferred.types[tensor].shape));
  }
  COT_TRY(fenced([&]() -> Status {
    COT_ASSIGN(runner->device_, DeviceBuffers::create(delegate, runner->elements_));
    const DelegatePart given{
        {model.graph(), inferred.types, model.parameters()}, part.ops, part.inputs, part.outputs, threads};
    COT_ASSIGN(runner->compiled_, delegate.compile(given));
    if (runner->compiled_ == nullptr) return given_up("it has compiled nothing");
    return {};
  }));
  return runner;
}

// The part goes before its buffers do.
PartRunner::~PartRunner() {
  const Status released = fenced([&]() -> Status {
    compiled_.reset();
    return {};
  });
  (void)released;  // nobody is left to hear of it
}

const char* PartRunner::run(float* const* buffers) {
  if (!refusal_.empty()) return kGivenUp;
  const Status done = fenced([&] { return verified_ ? run_on(buffers) : verify(buffers); });
  if (done) return nullptr;
  refusal_ = done.error().message();
  return kGivenUp;
}

Status PartRunner::verify(float* const* buffers) {
  const size_t inputs = part_.inputs.size(), all = elements_.size();
  std::vector<GuardedBuffer> guarded;
  std::vector<float*> pointers;
  for (size_t i = 0; i < all; ++i) guarded.emplace_back(elements_[i]);
  for (size_t i = 0; i < all; ++i) {
    pointers.push_back(guarded[i].data());
    if (i < inputs) std::memcpy(pointers[i], buffers[i], elements_[i] * sizeof(float));
  }
  COT_TRY(run_on(pointers.data()));
  std::vector<std::span<const float>> given, seen;
  for (size_t i = 0; i < all; ++i) {
    const std::string& name = model_.graph().tensors[i < inputs ? part_.inputs[i] : part_.outputs[i - inputs]].name;
    if (!guarded[i].has_guards()) return given_up("it has written beyond the buffer of tensor " + name);
    if (i >= inputs) {
      seen.push_back(guarded[i].view());
      continue;
    }
    given.emplace_back(buffers[i], elements_[i]);
    if (std::memcmp(pointers[i], buffers[i], elements_[i] * sizeof(float)) != 0) {
      return given_up("it has written into its input " + name);
    }
  }
  COT_ASSIGN(verified_, verify_part(model_, part_, batch_size_, given, seen));
  for (size_t i = inputs; i < all; ++i) std::memcpy(buffers[i], pointers[i], elements_[i] * sizeof(float));
  return {};
}

Status PartRunner::run_on(float* const* buffers) {
  ++copies_.runs;
  const size_t inputs = part_.inputs.size(), outputs = part_.outputs.size();
  if (device_.empty()) {
    const std::vector<void*> host(buffers, buffers + inputs + outputs);
    return compiled_->run(std::span(host).first(inputs), std::span(host).last(outputs));
  }
  COT_TRY(device_.write(0, inputs, buffers, copies_));
  COT_TRY(compiled_->run(device_.pointers().first(inputs), device_.pointers().last(outputs)));
  return device_.read(inputs, inputs + outputs, buffers, copies_);
}

}  // namespace coterie
