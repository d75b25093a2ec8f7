#include "secure/he/cipher_modulus.h"
#include "secure/he/okamoto_uchiyama.h"
#include "secure/he/okamoto_uchiyama_key.h"
#include "secure/he/residue_cipher.h"

namespace coterie {
namespace he {

std::unique_ptr<AdditiveCipher> okamoto_uchiyama_cipher_of(Big n, Secret<32> seed, const LaneKernel* kernel) {
  return residue_cipher(std::move(n), Modulo::n, seed, "coterie okamoto-uchiyama sums", kernel);
}

}  // namespace he

Result<std::unique_ptr<AdditiveCipher>> okamoto_uchiyama_cipher(ByteView public_key, Secret<32> seed) {
  COT_ASSIGN(he::Big n, he::read_public_modulus(public_key, "Okamoto-Uchiyama"));
  return he::okamoto_uchiyama_cipher_of(std::move(n), std::move(seed));
}

}  // namespace coterie
