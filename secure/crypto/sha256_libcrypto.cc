#include <openssl/evp.h>

#include "base/assert.h"
#include "secure/crypto/sha256_stream.h"

namespace coterie {

Digest sha256_stream(ByteView prefix, ByteView message) {
  // Fetching the algorithm costs more than hashing a short message: once a process.
  static EVP_MD* const md = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  thread_local struct Context {
    EVP_MD_CTX* ctx = EVP_MD_CTX_new();
    ~Context() { EVP_MD_CTX_free(ctx); }
  } context;
  Digest digest;
  const bool ok = EVP_DigestInit_ex(context.ctx, md, nullptr) == 1 &&
                  EVP_DigestUpdate(context.ctx, prefix.data(), prefix.size()) == 1 &&
                  EVP_DigestUpdate(context.ctx, message.data(), message.size()) == 1 &&
                  EVP_DigestFinal_ex(context.ctx, digest.bytes.data(), nullptr) == 1;
  COT_ASSERT(ok);
  return digest;
}

}  // namespace coterie
