// BodyPool: aligned memory for update bodies, used again and again, because fresh pages for every 25 MB upload cost as
// much as receiving it. Thread-safe. Memory in use is bounded by the ingest machine's byte budget; what lies idle here
// is bounded by `idle_bytes_max`.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace coterie {

class BodyPool {
 public:
  explicit BodyPool(uint64_t idle_bytes_max) : state_(std::make_shared<State>()) {
    state_->idle_bytes_max = idle_bytes_max;
  }

  struct Body {
    std::shared_ptr<void> storage;  // keeps `bytes` alive
    std::span<uint8_t> bytes;       // 64-byte aligned, content unspecified
  };
  Body acquire(size_t size);

 private:
  struct Free {
    void operator()(uint8_t* memory) const;
  };
  struct Block {
    std::unique_ptr<uint8_t, Free> memory;
    size_t capacity = 0;
  };
  struct State {
    std::mutex mutex;
    std::vector<Block> idle;
    uint64_t idle_bytes = 0;
    uint64_t idle_bytes_max = 0;
  };
  static Block take(State& state, size_t size);
  static void give_back(State& state, Block block);

  std::shared_ptr<State> state_;  // outlives the pool while bodies do
};

}  // namespace coterie
