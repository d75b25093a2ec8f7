// Memory for secrets: never swapped out (mlock), left out of core dumps (MADV_DONTDUMP), wiped when it is given back.
//
// Slots are cut from slabs of 16 KiB that are locked as one, so that 100,000 keys cost 200 system calls and no guard
// pages (docs/adr/0017). A slab stays for the rest of the process. When the system refuses to lock more
// (RLIMIT_MEMLOCK; 64 KiB on some phones), further slabs work unlocked: keys are then no worse off than other memory,
// and locked_memory() tells.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace coterie {

inline constexpr size_t kLockedSlabBytes = 16'384;
inline constexpr size_t kLockedSlotBytesMax = 8192;

struct LockedMemory {
  size_t slots_used = 0;
  size_t locked_bytes = 0;    // of slabs, used or not
  size_t unlocked_bytes = 0;  // of slabs that the system refused to lock
};

// Slots of one size. Thread-safe. Never destroyed while a slot is in use.
class LockedSlots {
 public:
  // Locks a slab; false if it stays unlocked. Another one than the system's in tests.
  using Lock = bool (*)(std::span<uint8_t> slab);

  LockedSlots(size_t slot_bytes, Lock lock) : slot_bytes_(slot_bytes), lock_slab_(lock) {}
  ~LockedSlots();
  LockedSlots(const LockedSlots&) = delete;
  LockedSlots& operator=(const LockedSlots&) = delete;

  // All zeros.
  uint8_t* take();
  // Wipes it.
  void give_back(uint8_t* slot) noexcept;
  LockedMemory usage() const;

 private:
  void add_slab();

  const size_t slot_bytes_;
  const Lock lock_slab_;
  mutable std::atomic_flag busy_;  // guards all below
  std::vector<uint8_t*> slabs_;
  std::vector<uint8_t*> free_;  // capacity for every slot, so that giving back cannot fail
  LockedMemory usage_;
};

// From the process's slots of the next size that fits; `bytes` is at most kLockedSlotBytesMax and the same in both.
uint8_t* take_locked(size_t bytes);
void give_back_locked(uint8_t* slot, size_t bytes) noexcept;

// What the whole process has locked.
LockedMemory locked_memory();

// A slot as an object, for what has no fixed size.
class LockedBytes {
 public:
  // All zeros; at most kLockedSlotBytesMax.
  explicit LockedBytes(size_t size) : slot_(size == 0 ? nullptr : take_locked(size)), size_(size) {}
  ~LockedBytes() {
    if (slot_ != nullptr) give_back_locked(slot_, size_);
  }
  LockedBytes(LockedBytes&& other) noexcept
      : slot_(std::exchange(other.slot_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  LockedBytes& operator=(LockedBytes&& other) noexcept {
    std::swap(slot_, other.slot_);
    std::swap(size_, other.size_);
    return *this;
  }
  LockedBytes(const LockedBytes&) = delete;
  LockedBytes& operator=(const LockedBytes&) = delete;

  std::span<const uint8_t> reveal() const { return {slot_, size_}; }
  std::span<uint8_t> mutable_bytes() { return {slot_, size_}; }

 private:
  uint8_t* slot_;
  size_t size_;
};

}  // namespace coterie
