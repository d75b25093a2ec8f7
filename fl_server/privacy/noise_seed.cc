#include "fl_server/privacy/noise_seed.h"

#include "secure/crypto/domain_fields.h"
#include "secure/crypto/hkdf.h"

namespace coterie {

NoiseSeed::NoiseSeed(const MacKey& noise_key, const NoiseSalt& salt, const JobId& job, const RoundKey& round) {
  DomainFields info("coterie/v1/central_noise");
  info.add(job.value()).add(round.round.value()).add(uint64_t{round.attempt.value()});
  seed_ = hkdf<32>(salt.reveal(), noise_key.reveal(), info.view());
}

Digest NoiseSeed::commitment() const { return mac(seed_, "coterie/v1/noise_commitment", {}); }

Result<KeyStreamSource> NoiseSeed::stream(std::string_view purpose) const {
  DomainFields info("coterie/v1/noise_stream");
  info.add(purpose);
  Secret<32> key;
  hkdf_expand(seed_, info.view(), key.mutable_bytes());
  COT_ASSIGN(KeyStream stream, KeyStream::make(CipherSuite::aes256_ctr, key));
  return KeyStreamSource(std::move(stream));
}

}  // namespace coterie
