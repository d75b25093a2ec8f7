// coterie-bench-vertical: the parts of vertical jobs on one thread, each beside its limit in the same run.
//
//   {"bench":"psi", ...}            a matching of 50,000 with 50,000 ids, half of them shared, by both machines:
//                                   ids of both a second, beside libsodium's hash to the group and two products; by
//                                   libsodium, and by the CPU's kernel beside its multiply-adds alone
//   {"bench":"cipher", ...}         operations of Paillier-2048 and of Okamoto-Uchiyama-2048 a second, beside
//                                   OpenSSL's that each is made of; by libcrypto, and by the CPU's kernel beside its
//                                   multiply-adds alone
//   {"bench":"vertical_tree", ...}  one tree of depth 3 on 5,000 rows, 10 columns at the label party and 30 at the
//                                   feature party, under each, beside its operations alone, and beside the same tree
//                                   where one party has all columns; with --large one on 100,000 rows, 30 and 300
//                                   columns, too, by the CPU's kernel, which takes some minutes
//   {"bench":"vertical_regression", ...}  an epoch of a logistic regression on shares, 100,000 rows, 30 columns at the
//                                   label party and 270 at the feature party, with what the dealer takes; beside the
//                                   same products in double precision
//   {"bench":"vertical_split", ...}  a split network, 30 columns at the label party and 300 at the feature party,
//                                   batches of 512: bytes a row and direction beside their formula, and how much of
//                                   50 ms of added round trip four batches in flight hide, by a clock of each machine
//
// Times are this thread's processor time.
#include <string_view>

#include "tests/bench/vertical_bench.h"
#include "tests/bench/vertical_schemes.h"

int main(int argc, char** argv) {
  using namespace coterie;
  const bool is_large = argc > 1 && std::string_view(argv[1]) == "--large";
  bench::measure_psi();
  for (const he::LaneKernel* kernel : {static_cast<const he::LaneKernel*>(nullptr), he::lane_kernel()}) {
    for (const bench::CipherScheme* scheme : {&bench::kPaillier, &bench::kOkamotoUchiyama}) {
      const auto limits = bench::measure_cipher(*scheme, kernel);
      bench::measure_tree(*scheme, limits, kernel, {.rows = 5'000, .label_columns = 10, .feature_columns = 30});
      if (!is_large || kernel == nullptr) continue;
      bench::measure_tree(*scheme, limits, kernel, {.rows = 100'000, .label_columns = 30, .feature_columns = 300});
    }
    if (he::lane_kernel() == nullptr) break;
  }
  bench::measure_regression();
  bench::measure_split();
}
