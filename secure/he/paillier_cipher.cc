#include "secure/he/cipher_modulus.h"
#include "secure/he/paillier.h"
#include "secure/he/paillier_key.h"
#include "secure/he/residue_cipher.h"

namespace coterie {
namespace he {

std::unique_ptr<AdditiveCipher> paillier_cipher_of(Big n, Secret<32> seed, const LaneKernel* kernel) {
  return residue_cipher(std::move(n), Modulo::square_of_n, seed, "coterie paillier sums", kernel);
}

}  // namespace he

Result<std::unique_ptr<AdditiveCipher>> paillier_cipher(ByteView public_key, Secret<32> seed) {
  COT_ASSIGN(he::Big n, he::read_public_modulus(public_key, "Paillier"));
  return he::paillier_cipher_of(std::move(n), std::move(seed));
}

}  // namespace coterie
