#include "tests/bench/vertical_schemes.h"

#include "secure/he/okamoto_uchiyama_key.h"
#include "secure/he/paillier_key.h"
#include "tests/bench/vertical_bench.h"

namespace coterie::bench {

const CipherScheme kPaillier = {.name = "Paillier-2048",
                                .key =
                                    [](uint64_t seed, const he::LaneKernel* kernel) {
                                      return he::paillier_key_of(he::generate_paillier_key(2048, seed_of(seed)),
                                                                 seed_of(seed), kernel);
                                    },
                                .cipher =
                                    [](ByteView public_key, Secret<32> seed, const he::LaneKernel* kernel) {
                                      return he::paillier_cipher_of(he::big_from(public_key), std::move(seed), kernel);
                                    },
                                .ring_bits = 4096,
                                .prime_bits = 1024,
                                .primes = 2,
                                .madds_of_digit_pairs = 10};

const CipherScheme kOkamotoUchiyama = {
    .name = "Okamoto-Uchiyama-2048",
    .key =
        [](uint64_t seed, const he::LaneKernel* kernel) {
          return he::okamoto_uchiyama_key_of(he::generate_okamoto_uchiyama_key(2048, seed_of(seed)), seed_of(seed),
                                             kernel);
        },
    .cipher =
        [](ByteView public_key, Secret<32> seed, const he::LaneKernel* kernel) {
          return he::okamoto_uchiyama_cipher_of(he::big_from(public_key), std::move(seed), kernel);
        },
    .ring_bits = 2048,
    .prime_bits = 683,
    .primes = 1,
    .madds_of_digit_pairs = 4};

}  // namespace coterie::bench
