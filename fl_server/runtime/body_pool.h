// BodyPool: aligned memory for update bodies, used again and again, because fresh pages for every 25 MB upload cost as
// much as receiving it. Thread-safe. Memory in use is bounded by the ingest machine's byte budget; what lies idle here
// is bounded by `idle_bytes_max`.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/result.h"

namespace coterie {

class BodyPool {
 public:
  // Memory for free(), aligned for what is decoded from it; null: there is none.
  using Allocate = void* (*)(size_t bytes);

  explicit BodyPool(uint64_t idle_bytes_max, Allocate allocate = &allocate_aligned)
      : state_(std::make_shared<State>()) {
    state_->idle_bytes_max = idle_bytes_max;
    state_->allocate = allocate;
  }

  struct Body {
    std::shared_ptr<void> storage;  // keeps `bytes` alive
    std::span<uint8_t> bytes;       // 64-byte aligned, content unspecified
  };
  // overloaded if the process gets no memory for it.
  Result<Body> acquire(size_t size);
  // What lies idle goes back to the system.
  void free_idle() { free_idle(*state_); }

 private:
  static void* allocate_aligned(size_t bytes);
  struct Free {
    void operator()(uint8_t* memory) const;
  };
  struct Block {
    std::unique_ptr<uint8_t, Free> memory;
    size_t capacity = 0;
  };
  struct State {
    Allocate allocate = nullptr;
    std::mutex mutex;
    std::vector<Block> idle;
    uint64_t idle_bytes = 0;
    uint64_t idle_bytes_max = 0;
  };
  static Block take(State& state, size_t size);  // without memory: there is none
  static void free_idle(State& state);
  static void give_back(State& state, Block block);

  std::shared_ptr<State> state_;  // outlives the pool while bodies do
};

}  // namespace coterie
