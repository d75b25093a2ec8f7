#include "tests/simulation/verified_signatures.h"

#include <string>
#include <unordered_set>

namespace {

std::unordered_set<std::string>& verified() {
  static thread_local std::unordered_set<std::string> signatures;
  return signatures;
}

}  // namespace

// The names that --wrap asks for; crypto_sign.h of libsodium has the signature.
extern "C" {
int real_verify_detached(const unsigned char* signature, const unsigned char* message, unsigned long long size,
                         const unsigned char* key) asm("__real_crypto_sign_verify_detached");
int verify_detached_once(const unsigned char* signature, const unsigned char* message, unsigned long long size,
                         const unsigned char* key) asm("__wrap_crypto_sign_verify_detached");

int verify_detached_once(const unsigned char* signature, const unsigned char* message, unsigned long long size,
                         const unsigned char* key) {
  constexpr size_t kSignatureBytes = 64, kKeyBytes = 32;
  std::string shown(reinterpret_cast<const char*>(signature), kSignatureBytes);
  shown.append(reinterpret_cast<const char*>(key), kKeyBytes);
  shown.append(reinterpret_cast<const char*>(message), size);
  if (verified().contains(shown)) return 0;
  const int is_bad = real_verify_detached(signature, message, size, key);
  if (is_bad == 0) verified().insert(std::move(shown));
  return is_bad;
}
}

namespace coterie::simulation {

void forget_verified_signatures() { verified().clear(); }

}  // namespace coterie::simulation
