// Ranks: the processes that simulate one job together, each with the same job, seed and data. What they say to each
// other is one thing: words that are added up. Two shells perform it: OneRank, a process alone, and MPI
// (mpi/open_ranks.h).
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"

namespace coterie {

class Ranks {
 public:
  virtual ~Ranks() = default;
  virtual uint32_t rank() const = 0;  // from 0: the one that tells what came of it
  virtual uint32_t count() const = 0;
  // Adds up the words of all ranks, modulo 2^64: afterwards each has the sums. All call it as often, with as many
  // words, and wait for each other. Errors: unavailable, if a rank is gone or this process is asked to end; rank 0's
  // names the ranks that it had not heard of.
  virtual Status add_up(std::span<uint64_t> words) = 0;
  // All ranks come to their end, and wait for each other. Who ends without it has all others ended, too.
  virtual void end() {}
  // The error that ends this rank is the others', too: rank 0 tells it, and no other rank repeats it.
  void set_error_shared() { is_error_shared_ = true; }
  bool is_error_shared() const { return is_error_shared_; }

 private:
  bool is_error_shared_ = false;
};

class OneRank final : public Ranks {
 public:
  uint32_t rank() const override { return 0; }
  uint32_t count() const override { return 1; }
  Status add_up(std::span<uint64_t>) override { return {}; }
};

}  // namespace coterie
