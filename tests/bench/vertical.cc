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
//                                   where one party has all columns
//   {"bench":"vertical_regression", ...}  an epoch of a logistic regression on shares, 100,000 rows, 30 columns at the
//                                   label party and 270 at the feature party, with what the dealer takes; beside the
//                                   same products in double precision
//   {"bench":"vertical_split", ...}  a split network, 30 columns at the label party and 300 at the feature party,
//                                   batches of 512: bytes a row and direction beside their formula, and how much of
//                                   50 ms of added round trip four batches in flight hide, by a clock of each machine
//
// Times are this thread's processor time.
#include "tests/bench/vertical_bench.h"
#include "tests/bench/vertical_schemes.h"

int main() {
  coterie::bench::measure_psi();
  for (const coterie::he::LaneKernel* kernel :
       {static_cast<const coterie::he::LaneKernel*>(nullptr), coterie::he::lane_kernel()}) {
    for (const coterie::bench::CipherScheme* scheme : {&coterie::bench::kPaillier, &coterie::bench::kOkamotoUchiyama}) {
      const auto limits = coterie::bench::measure_cipher(*scheme, kernel);
      coterie::bench::measure_tree(*scheme, limits, kernel);
    }
    if (coterie::he::lane_kernel() == nullptr) break;
  }
  coterie::bench::measure_regression();
  coterie::bench::measure_split();
}
