#include "fl_server/serving/metrics_board.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/assert.h"

namespace coterie {
namespace {

constexpr size_t kTextWords = MetricsBoard::kTextBytesMax / sizeof(uint64_t);
constexpr size_t kSlotWords = 2 + kTextWords;
constexpr size_t kSlotBytes = kSlotWords * sizeof(uint64_t);
constexpr int kReadsMax = 100;

using Word = std::atomic_ref<uint64_t>;
static_assert(Word::is_always_lock_free);  // so that it works between processes

Result<uint64_t*> map(const os::File& file, size_t bytes) {
  void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd(), 0);
  if (at == MAP_FAILED)
    return Error(ErrorCode::unavailable,
                 std::string("no memory for the metrics of several processes: ") + std::strerror(errno));
  return static_cast<uint64_t*>(at);
}

}  // namespace

Result<MetricsBoard> MetricsBoard::make(size_t slots) {
  COT_ASSERT(slots > 0 && slots <= kSlotsMax);
  os::File file(::memfd_create("coterie-metrics", MFD_CLOEXEC), "metrics board");
  if (!file.is_open() || ::ftruncate(file.fd(), static_cast<off_t>(slots * kSlotBytes)) != 0)
    return Error(ErrorCode::unavailable,
                 std::string("no memory for the metrics of several processes: ") + std::strerror(errno));
  COT_ASSIGN(uint64_t* const words, map(file, slots * kSlotBytes));
  return MetricsBoard(std::move(file), slots, words);
}

Result<MetricsBoard> MetricsBoard::open(os::File file) {
  COT_ASSIGN(const uint64_t bytes, file.size());
  if (bytes == 0 || bytes % kSlotBytes != 0 || bytes / kSlotBytes > kSlotsMax)
    return Error(ErrorCode::malformed, "the board of metrics has " + std::to_string(bytes) +
                                           " bytes, expected slots of " + std::to_string(kSlotBytes));
  COT_ASSIGN(uint64_t* const words, map(file, bytes));
  return MetricsBoard(std::move(file), bytes / kSlotBytes, words);
}

MetricsBoard::MetricsBoard(MetricsBoard&& other) noexcept
    : file_(std::move(other.file_)), slots_(other.slots_), words_(std::exchange(other.words_, nullptr)) {}

MetricsBoard::~MetricsBoard() {
  if (words_ != nullptr) ::munmap(words_, slots_ * kSlotBytes);
}

// A sequence lock, in words that are atomic each: H.-J. Boehm, Can seqlocks get along with programming language memory
// models?, MSPC 2012.
void MetricsBoard::write(size_t slot, std::string_view text) {
  COT_ASSERT(slot < slots_);
  if (text.size() > kTextBytesMax) text = {};
  uint64_t* const words = words_ + slot * kSlotWords;
  const uint64_t writing =
      Word(words[0]).load(std::memory_order_relaxed) | 1;  // odd already behind one that was killed
  Word(words[0]).store(writing, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  Word(words[1]).store(text.size(), std::memory_order_relaxed);
  for (size_t i = 0; i * sizeof(uint64_t) < text.size(); ++i) {
    uint64_t word = 0;
    const std::string_view piece = text.substr(i * sizeof(word), sizeof(word));
    std::memcpy(&word, piece.data(), piece.size());
    Word(words[2 + i]).store(word, std::memory_order_relaxed);
  }
  Word(words[0]).store(writing + 1, std::memory_order_release);
}

uint64_t MetricsBoard::writes(size_t slot) const {
  COT_ASSERT(slot < slots_);
  return Word(words_[slot * kSlotWords]).load(std::memory_order_relaxed) / 2;
}

std::string MetricsBoard::read(size_t slot) const {
  COT_ASSERT(slot < slots_);
  uint64_t* const words = words_ + slot * kSlotWords;
  std::string text;
  for (int i = 0; i < kReadsMax; ++i) {
    const uint64_t before = Word(words[0]).load(std::memory_order_acquire);
    // What others may write at any time is judged before it is used.
    const uint64_t bytes = std::min<uint64_t>(Word(words[1]).load(std::memory_order_relaxed), kTextBytesMax);
    text.resize(bytes);
    for (size_t word_at = 0; word_at * sizeof(uint64_t) < bytes; ++word_at) {
      const uint64_t word = Word(words[2 + word_at]).load(std::memory_order_relaxed);
      const size_t at = word_at * sizeof(word);
      std::memcpy(text.data() + at, &word, std::min<size_t>(sizeof(word), bytes - at));
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    if (before % 2 == 0 && Word(words[0]).load(std::memory_order_relaxed) == before) return text;
  }
  return {};
}

}  // namespace coterie
