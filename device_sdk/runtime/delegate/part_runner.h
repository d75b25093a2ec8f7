// PartRunner: one part that a delegate has compiled, as a step of our program. It verifies the first run, and gives up
// for good at the first failure: who owns the program then compiles it without the part.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device_sdk/runtime/delegate/delegate.h"
#include "device_sdk/runtime/delegate/device_buffers.h"
#include "device_sdk/runtime/delegate/partition.h"
#include "device_sdk/runtime/delegate/verification.h"
#include "device_sdk/runtime/external_part.h"
#include "device_sdk/runtime/model.h"

namespace coterie {

class PartRunner final : public ExternalStep {
 public:
  // The delegate outlives it. Errors: what the delegate gives, or throws.
  static Result<std::shared_ptr<PartRunner>> create(const Model& model, Delegate& delegate, const PlannedPart& part,
                                                    uint32_t batch_size, uint32_t threads);
  ~PartRunner() override;

  // The first time on copies with guards before and behind each: what a delegate writes beside its outputs, or into its
  // inputs, is seen. Later on the program's own memory.
  const char* run(float* const* buffers) override;

  const PlannedPart& part() const { return part_; }
  const std::string& refusal() const { return refusal_; }  // why it is given up; empty: it is not
  const std::optional<VerifiedPart>& verified() const { return verified_; }
  const BorderCopies& copies() const { return copies_; }

 private:
  PartRunner(Model model, PlannedPart part, uint32_t batch_size);

  Status verify(float* const* buffers);
  Status run_on(float* const* buffers);

  const Model model_;
  const PlannedPart part_;
  const uint32_t batch_size_;
  std::vector<uint64_t> elements_;  // of each buffer: inputs, then outputs
  DeviceBuffers device_;            // likewise; none where the domain is host
  std::unique_ptr<CompiledPart> compiled_;
  std::optional<VerifiedPart> verified_;
  std::string refusal_;
  BorderCopies copies_;
};

}  // namespace coterie
