#include "device_sdk/agent/training_seed.h"

#include <cstring>

#include "base/os/file.h"
#include "base/random.h"
#include "secure/crypto/random.h"

namespace coterie {

Result<uint64_t> training_seed(const std::string& path) {
  uint64_t seed = 0;
  const Result<Bytes> kept = os::read_file(path, sizeof seed);
  if (kept && kept->size() == sizeof seed) {
    std::memcpy(&seed, kept->data(), sizeof seed);
    return seed;
  }
  seed = random_u64();
  Bytes bytes(sizeof seed);
  std::memcpy(bytes.data(), &seed, sizeof seed);
  // After a loss of power the round is begun anew, or goes on from a checkpoint, which has its own.
  COT_TRY(os::write_file_atomically(path, bytes, os::Durability::process));
  return seed;
}

uint64_t repeated_seed(uint64_t device_seed, ModelVersion version) {
  return Prng::derived(device_seed, version.value()).next();
}

}  // namespace coterie
