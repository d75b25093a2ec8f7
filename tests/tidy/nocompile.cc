// Mistakes that must not compile: every line that ends in "// error" has to be one for the compiler, no other may be.
// nocompile.py compiles this file with its mistakes and without them (-DMISTAKES=0).
#include <span>
#include <utility>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "secure/crypto/secret.h"
#include "secure/dp/account/poisson_sampler.h"

namespace coterie {

Status check();
Result<int> count();
void open_round(RoundId round, Attempt attempt);
void wait_until(Instant deadline);

void correct(Secret<32>& key, Now now) {
  open_round(RoundId(1), Attempt(2));
  wait_until(now.instant + Millis(5));
  (void)check();
  (void)count();
  Secret<32> moved = std::move(key);
  [[maybe_unused]] const bool ok = check().has_value();
  const Sampling drawn = PoissonSampler::create(0.01).value().claim();
  [[maybe_unused]] const Result<Sampling> assumed = Sampling::assume_poisson(0.01, "a plan");
}

#if MISTAKES
void mistaken(Secret<32>& key, Now now) {
  // Ids of two kinds mixed up, and a bare number as an id.
  open_round(Attempt(2), RoundId(1));  // error
  open_round(1, 2);                    // error

  // The clock that may jump as a deadline, and a number without a unit as a duration.
  wait_until(now.wall + Millis(5));  // error
  wait_until(now.instant + 5);       // error

  // Failures dropped in silence, and an error taken for success.
  check();                  // error
  count();                  // error
  const bool ok = check();  // error

  // A second copy of a key.
  Secret<32> copy = key;  // error

  // Amplification by sampling that nobody has done and nobody answers for.
  const Sampling claim(Sampling::Kind::poisson, 0.01, "");  // error
  const Sampling bare = {};                                 // error
}
#endif

}  // namespace coterie
