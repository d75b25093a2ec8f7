#include "secure/crypto/locked_memory.h"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <bit>
#include <new>
#include <utility>

#include "base/assert.h"
#include "secure/crypto/secret.h"
#include "secure/crypto/sodium.h"

namespace coterie {
namespace {

constexpr size_t kSlotBytesMin = 32;
// Slots of 32, 64, 128 and so on bytes.
constexpr size_t kSizes = 9;
static_assert(kSlotBytesMin << (kSizes - 1) == kLockedSlotBytesMax);

// Held for a few instructions, or while a slab is locked.
class Holding {
 public:
  explicit Holding(std::atomic_flag& flag) : flag_(flag) {
    while (flag_.test_and_set(std::memory_order_acquire)) flag_.wait(true, std::memory_order_relaxed);
  }
  ~Holding() {
    flag_.clear(std::memory_order_release);
    flag_.notify_one();
  }
  Holding(const Holding&) = delete;
  Holding& operator=(const Holding&) = delete;

 private:
  std::atomic_flag& flag_;
};

// Also takes the slab out of core dumps, whether or not it can be locked.
bool lock_by_system(std::span<uint8_t> slab) {
  ensure_sodium();
  return sodium_mlock(slab.data(), slab.size()) == 0;
}

LockedSlots& slots_of_size(size_t index) {
  // Never destroyed: a key in a static object may outlive every order of destruction.
  static auto& all = *[]<size_t... kIndex>(std::index_sequence<kIndex...>) {
    return new std::array<LockedSlots, kSizes>{LockedSlots(kSlotBytesMin << kIndex, lock_by_system)...};
  }(std::make_index_sequence<kSizes>());
  return all[index];
}

LockedSlots& slots_for(size_t bytes) {
  COT_ASSERT(bytes > 0 && bytes <= kLockedSlotBytesMax);
  return slots_of_size(static_cast<size_t>(std::bit_width((bytes - 1) / kSlotBytesMin)));
}

}  // namespace

LockedSlots::~LockedSlots() {
  for (uint8_t* slab : slabs_) ::operator delete(slab, std::align_val_t(kLockedSlabBytes));
}

void LockedSlots::add_slab() {
  const size_t slots = kLockedSlabBytes / slot_bytes_;
  free_.reserve((slabs_.size() + 1) * slots);
  slabs_.reserve(slabs_.size() + 1);
  auto* const slab = static_cast<uint8_t*>(::operator new(kLockedSlabBytes, std::align_val_t(kLockedSlabBytes)));
  const std::span<uint8_t> bytes(slab, kLockedSlabBytes);
  std::ranges::fill(bytes, uint8_t{0});
  (lock_slab_(bytes) ? usage_.locked_bytes : usage_.unlocked_bytes) += kLockedSlabBytes;
  slabs_.push_back(slab);
  for (size_t i = slots; i-- > 0;) free_.push_back(slab + i * slot_bytes_);
}

uint8_t* LockedSlots::take() {
  const Holding holding(busy_);
  if (free_.empty()) add_slab();
  uint8_t* const slot = free_.back();
  free_.pop_back();
  ++usage_.slots_used;
  return slot;
}

void LockedSlots::give_back(uint8_t* slot) noexcept {
  // Before the slot is free: another thread may take it in the next moment.
  wipe({slot, slot_bytes_});
  const Holding holding(busy_);
  free_.push_back(slot);
  --usage_.slots_used;
}

LockedMemory LockedSlots::usage() const {
  const Holding holding(busy_);
  return usage_;
}

uint8_t* take_locked(size_t bytes) { return slots_for(bytes).take(); }

void give_back_locked(uint8_t* slot, size_t bytes) noexcept { slots_for(bytes).give_back(slot); }

LockedMemory locked_memory() {
  LockedMemory sum;
  for (size_t i = 0; i < kSizes; ++i) {
    const LockedMemory one = slots_of_size(i).usage();
    sum.slots_used += one.slots_used;
    sum.locked_bytes += one.locked_bytes;
    sum.unlocked_bytes += one.unlocked_bytes;
  }
  return sum;
}

}  // namespace coterie
