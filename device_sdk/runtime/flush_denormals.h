// While one of these lives, this thread's arithmetic flushes denormal numbers to zero, as momentum and saturated
// softmax tails are full of them and each costs a hundred cycles. The caller's mode comes back with the destructor.
#pragma once

#include <cstdint>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace coterie {

// KeepDenormals is the opposite, for what must have the same bits on every machine.
class DenormalMode {
 public:
  DenormalMode(const DenormalMode&) = delete;
  DenormalMode& operator=(const DenormalMode&) = delete;

 protected:
  explicit DenormalMode(bool flushes) : saved_(read()) { write(flushes ? saved_ | kFlush : saved_ & ~kFlush); }
  ~DenormalMode() { write(saved_); }

 private:
#if defined(__SSE2__)
  using Mode = uint32_t;
  static constexpr Mode kFlush = 0x8040;  // MXCSR: flush to zero, denormals are zero
  static Mode read() { return _mm_getcsr(); }
  static void write(Mode mode) { _mm_setcsr(mode); }
#elif defined(__aarch64__)
  using Mode = uint64_t;
  static constexpr Mode kFlush = 1u << 24;  // FPCR.FZ
  static Mode read() {
    Mode mode;
    __asm__ __volatile__("mrs %0, fpcr" : "=r"(mode));
    return mode;
  }
  static void write(Mode mode) { __asm__ __volatile__("msr fpcr, %0" : : "r"(mode)); }
#else
  using Mode = uint32_t;
  static constexpr Mode kFlush = 0;
  static Mode read() { return 0; }
  static void write(Mode) {}
#endif
  Mode saved_;
};

class FlushDenormals final : DenormalMode {
 public:
  FlushDenormals() : DenormalMode(true) {}
};

class KeepDenormals final : DenormalMode {
 public:
  KeepDenormals() : DenormalMode(false) {}
};

}  // namespace coterie
