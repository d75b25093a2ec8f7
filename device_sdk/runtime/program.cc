#include "device_sdk/runtime/program.h"

#include <cstring>
#include <new>
#include <string>

#include "base/assert.h"
#include "base/checked.h"

namespace coterie {
namespace {

constexpr std::align_val_t kArenaAlignment{kBufferAlignment};

size_t index_of(Region region) { return static_cast<size_t>(region); }

}  // namespace

void Program::ArenaDeleter::operator()(uint8_t* arena) const { ::operator delete(arena, kArenaAlignment); }

void Program::reserve_region(Region region, uint64_t bytes) {
  COT_ASSERT(arena_ == nullptr);
  region_bytes_[index_of(region)] = bytes;
}

BufferId Program::add_planned(uint64_t bytes) {
  buffers_.push_back({true, Region::parameters, 0, bytes});
  return static_cast<BufferId>(buffers_.size() - 1);
}

BufferId Program::add_fixed(Region region, uint64_t offset_bytes) {
  COT_ASSERT(offset_bytes < region_bytes_[index_of(region)] && offset_bytes % sizeof(float) == 0);
  buffers_.push_back({false, region, offset_bytes, 0});
  return static_cast<BufferId>(buffers_.size() - 1);
}

void Program::emit_shared(StepFunction run, std::shared_ptr<const void> settings,
                          std::initializer_list<BufferId> buffers) {
  COT_ASSERT(buffers.size() <= Step::kBuffersMax && arena_ == nullptr);
  Draft draft{run, {}, std::move(settings)};
  draft.buffers.fill(kNoBuffer);
  size_t i = 0;
  for (const BufferId id : buffers) {
    COT_ASSERT(id == kNoBuffer || id < buffers_.size());
    draft.buffers[i++] = id;
  }
  drafts_.push_back(std::move(draft));
}

// A planned buffer lives from the first step that names it to the last; one that no step names needs no memory.
void Program::plan() {
  std::vector<Lifetime> lifetimes;
  std::vector<uint32_t> slot(buffers_.size(), ~0u);
  const auto touch = [&](BufferId id, uint32_t step) {
    if (id == kNoBuffer || !buffers_[id].is_planned) return;
    if (slot[id] == ~0u) {
      slot[id] = static_cast<uint32_t>(lifetimes.size());
      lifetimes.push_back({buffers_[id].bytes, step, step});
    }
    lifetimes[slot[id]].last = step;
  };
  touch(input_, 0);
  for (uint32_t step = 0; step < drafts_.size(); ++step) {
    for (const BufferId id : drafts_[step].buffers) touch(id, step);
  }
  const MemoryPlan plan = plan_memory(lifetimes);
  for (size_t id = 0; id < buffers_.size(); ++id) {
    if (slot[id] != ~0u) buffers_[id].offset = plan.offsets[slot[id]];
  }
  figures_.planned_bytes = plan.bytes;
  figures_.planned_lower_bound = plan.lower_bound;
}

Status Program::finish(uint64_t arena_bytes_max) {
  // Each buffer is bounded before the sum is formed, so that nothing below overflows.
  const auto too_large = [&](const std::string& what) {
    return Error(ErrorCode::too_large,
                 "the model needs " + what + ", at most " + std::to_string(arena_bytes_max) + " bytes are allowed");
  };
  for (const Buffer& buffer : buffers_) {
    if (buffer.bytes > arena_bytes_max) return too_large("one buffer of " + std::to_string(buffer.bytes) + " bytes");
  }
  plan();
  uint64_t offset = 0;
  for (size_t i = 0; i < kRegions; ++i) {
    if (region_bytes_[i] > arena_bytes_max) return too_large("more parameters than that");
    region_offset_[i] = offset;
    offset += round_up(region_bytes_[i], kBufferAlignment);
  }
  planned_offset_ = offset;
  figures_.bytes = offset + figures_.planned_bytes;
  figures_.parameter_bytes = region_bytes_[index_of(Region::parameters)];
  figures_.slot_bytes = region_bytes_[index_of(Region::slot0)] + region_bytes_[index_of(Region::slot1)];
  if (figures_.bytes > arena_bytes_max) return too_large(std::to_string(figures_.bytes) + " bytes");
  arena_.reset(static_cast<uint8_t*>(::operator new(figures_.bytes, kArenaAlignment, std::nothrow)));
  if (arena_ == nullptr) return too_large(std::to_string(figures_.bytes) + " bytes and the system has not as many");
  std::memset(arena_.get(), 0, figures_.bytes);  // also faults the pages in, before the first step
  steps_.reserve(drafts_.size());
  for (const Draft& draft : drafts_) {
    Step step{draft.run, {}, draft.settings.get()};
    for (size_t i = 0; i < Step::kBuffersMax; ++i) {
      step.buffers[i] = draft.buffers[i] == kNoBuffer ? nullptr : at(buffers_[draft.buffers[i]]);
    }
    steps_.push_back(step);
  }
  return {};
}

float* Program::at(const Buffer& buffer) const {
  const uint64_t start = buffer.is_planned ? planned_offset_ : region_offset_[index_of(buffer.region)];
  return reinterpret_cast<float*>(arena_.get() + start + buffer.offset);
}

float* Program::region(Region region) const {
  return reinterpret_cast<float*>(arena_.get() + region_offset_[index_of(region)]);
}

}  // namespace coterie
