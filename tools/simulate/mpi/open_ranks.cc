#include "tools/simulate/mpi/open_ranks.h"

#include <dlfcn.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "tools/cli/interrupt.h"
#include "tools/simulate/mpi/mpi_table.h"

namespace coterie {
namespace {

constexpr size_t kPieceWords = 1 << 24;  // below MPI's limit of a count
constexpr int kQuickTests = 2'000;       // before it begins to sleep between them
constexpr Millis kTestEvery{1};

// The number in mpirun's environment, 0 if it is none.
unsigned long ranks_by_environment() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    if (const char* value = std::getenv(name)) return std::strtoul(value, nullptr, 10);
  }
  return 0;
}

Result<const CoterieMpiTable*> load_table() {
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  const std::filesystem::path beside = folder / "coterie-mpi.so", installed = folder / "../lib/coterie/coterie-mpi.so";
  const std::filesystem::path& path = std::filesystem::exists(beside, ignored) ? beside : installed;
  // Global: Open MPI's own plugins look its symbols up.
  void* const module = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (module == nullptr) {
    return Error(ErrorCode::unsupported_version,
                 "mpirun has started " + std::to_string(ranks_by_environment()) +
                     " processes, and this build has no MPI (" + ::dlerror() +
                     "): build it where libopenmpi-dev is installed, or start one process without mpirun");
  }
  const auto table_of = reinterpret_cast<const CoterieMpiTable* (*)()>(::dlsym(module, "coterie_mpi_table"));
  const CoterieMpiTable* const table = table_of == nullptr ? nullptr : table_of();
  if (table == nullptr || table->version != kMpiTableVersion) {
    return Error(ErrorCode::unsupported_version, path.string() + " is of another version of coterie");
  }
  return table;
}

class MpiRanks final : public Ranks {
 public:
  MpiRanks(const CoterieMpiTable& table, uint32_t rank, uint32_t count) : table_(&table), rank_(rank), count_(count) {}

  uint32_t rank() const override { return rank_; }
  uint32_t count() const override { return count_; }
  Status add_up(std::span<uint64_t> words) override {
    for (size_t first = 0; first < words.size(); first += kPieceWords) {
      const Status added = add_piece(words.subspan(first, std::min(kPieceWords, words.size() - first)));
      if (added) continue;
      set_error_shared();
      return added;
    }
    return {};
  }
  void end() override { table_->finish(); }

 private:
  Status add_piece(std::span<uint64_t> words) {
    if (table_->begin_sum(words.data(), words.size()) != 0) return failed("MPI has not begun to add up");
    for (int tests = 0;; ++tests) {
      const int state = table_->test();
      if (state == 1) return {};
      if (state < 0) return failed("MPI has failed to add up");
      if (tests < kQuickTests) ::sched_yield();
      else if (!Interrupt::wait(kTestEvery))
        return failed("ended by signal " + std::to_string(Interrupt::signal_number()));
    }
  }
  Error failed(const std::string& what) const {
    std::string missing;
    for (uint32_t rank = 1; rank_ == 0 && rank < count_; ++rank) {
      if (table_->has_begun(rank) == 0) missing += (missing.empty() ? "" : ", ") + std::to_string(rank);
    }
    if (missing.empty()) return Error(ErrorCode::unavailable, what + " while ranks added up their sums");
    return Error(ErrorCode::unavailable, what + " while rank 0 waited for the sums of rank " + missing);
  }

  const CoterieMpiTable* table_;
  uint32_t rank_, count_;
};

}  // namespace

bool is_of_several_ranks() { return ranks_by_environment() > 1; }

Result<std::unique_ptr<Ranks>> open_ranks() {
  if (!is_of_several_ranks()) return std::unique_ptr<Ranks>(std::make_unique<OneRank>());
  COT_ASSIGN(const CoterieMpiTable* const table, load_table());
  uint32_t rank = 0, count = 1;
  if (table->begin(&rank, &count) != 0) return Error(ErrorCode::unavailable, "MPI_Init has failed");
  if (count != ranks_by_environment()) {
    return Error(ErrorCode::unavailable, "the environment tells of " + std::to_string(ranks_by_environment()) +
                                             " processes, and MPI of " + std::to_string(count) +
                                             ": start them with the mpirun of Open MPI, which this build has");
  }
  return std::unique_ptr<Ranks>(std::make_unique<MpiRanks>(*table, rank, count));
}

}  // namespace coterie
