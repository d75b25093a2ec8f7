// BodyBudget: the memory that bodies of a plane's requests may take at a time, bodies of updates aside (those are the
// ingest machine's). One a listener: whoever fills the one plane does not close the other. What all of them come to,
// with `ingest.bytes_in_flight_max`, is the most that bodies take of the process.
//
// A body has what it needs step by step, as its bytes come: a Content-Length costs nothing. Thread-safe.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace coterie {

inline constexpr uint64_t kSmallBodyBytesMax = 1 << 20;
inline constexpr uint64_t kFirstBodyStepBytes = 16 * 1024;

// How large the memory of a body becomes that has `have` bytes, all of them filled, of `whole`: never more than twice
// what has come, the first step aside.
constexpr uint64_t next_body_step(uint64_t have, uint64_t whole) {
  return std::min(whole, std::max(kFirstBodyStepBytes, 2 * have));
}

class BodyBudget {
  struct State {
    uint64_t bytes_max = 0;
    std::atomic<uint64_t> bytes{0};
  };

 public:
  explicit BodyBudget(uint64_t bytes_max) : state_(std::make_shared<State>()) { state_->bytes_max = bytes_max; }

  // What one body holds of the budget; gives it back with its end. May outlive the budget.
  class Share {
   public:
    Share() = default;
    explicit Share(BodyBudget& budget) : state_(budget.state_) {}
    ~Share() { release(); }
    Share(Share&& other) noexcept : state_(std::move(other.state_)), bytes_(std::exchange(other.bytes_, 0)) {}
    Share& operator=(Share&& other) noexcept {
      release();
      state_ = std::move(other.state_);
      bytes_ = std::exchange(other.bytes_, 0);
      return *this;
    }
    // Holds `bytes` from now on, of a body that will have `whole`. False: the budget is spent, and the share as before.
    // The last quarter of a budget is for small bodies, so that a few large ones, however slow, do not keep out all.
    bool resize(uint64_t bytes, uint64_t whole);
    uint64_t bytes() const { return bytes_; }

   private:
    void release() { (void)(bytes_ == 0 || resize(0, 0)); }

    std::shared_ptr<State> state_;
    uint64_t bytes_ = 0;
  };

  uint64_t bytes() const { return state_->bytes; }  // held now

 private:
  std::shared_ptr<State> state_;
};

}  // namespace coterie
