#include "secure/dp/ledger/ledger_record.h"

#include <bit>
#include <cmath>
#include <string>

#include "secure/crypto/digest.h"
#include "secure/crypto/domain_fields.h"

namespace coterie {
namespace {

uint64_t bits_of(double value) { return std::bit_cast<uint64_t>(value); }

}  // namespace

std::string_view to_string(LedgerKind kind) {
  switch (kind) {
    case LedgerKind::reserve: return "reserve";
    case LedgerKind::commit: return "commit";
    case LedgerKind::voided: return "voided";
  }
  return "unknown";
}

std::string_view to_string(LedgerMechanism mechanism) {
  switch (mechanism) {
    case LedgerMechanism::skellam: return "skellam";
    case LedgerMechanism::discrete_gaussian: return "discrete_gaussian";
    case LedgerMechanism::tree: return "tree";
  }
  return "unknown";
}

Noise noise_of(const LedgerRelease& release) {
  if (release.mechanism == LedgerMechanism::skellam) {
    return SkellamNoise{release.variance, release.l1_sensitivity, release.l2_sensitivity};
  }
  return DiscreteGaussianNoise{std::sqrt(release.variance), release.l2_sensitivity, false};
}

Digest digest_of(const LedgerRecord& record) {
  DomainFields fields("coterie/v1/ledger");
  fields.add(record.seq)
      .add(record.previous.view())
      .add(record.job.value())
      .add(record.round.round.value())
      .add(uint64_t{record.round.attempt.value()})
      .add(static_cast<uint64_t>(record.kind))
      .add(static_cast<uint64_t>(record.release.mechanism))
      // The bits of a double, not its text: two texts of one number would be two records.
      .add(bits_of(record.release.variance))
      .add(bits_of(record.release.l1_sensitivity))
      .add(bits_of(record.release.l2_sensitivity))
      .add(bits_of(record.release.total_variation))
      .add(bits_of(record.delta))
      .add(record.contributors)
      .add(record.noise_commitment.view())
      .add(static_cast<uint64_t>(unix_ms(record.time)));
  return content_digest(fields.view());
}

Status check_record(const LedgerRecord& record) {
  const auto wrong = [&](const std::string& why) {
    return Error(ErrorCode::data_loss, "privacy ledger: record " + std::to_string(record.seq) + " " + why);
  };
  const LedgerRelease& release = record.release;
  if (to_string(record.kind) == "unknown") return wrong("is of no known kind");
  if (to_string(release.mechanism) == "unknown") return wrong("is of no known mechanism");
  if (!(release.l1_sensitivity >= 0 && std::isfinite(release.l1_sensitivity))) return wrong("has no L1 sensitivity");
  if (!(release.total_variation >= 0 && release.total_variation <= 1)) return wrong("has no total variation");
  if (const Status noise = check_composition({Releases{noise_of(release)}}); !noise) {
    return wrong("cannot be accounted for: " + noise.error().message());
  }
  if (const Status delta = check_delta(record.delta); !delta) return wrong("has no delta");
  const bool commits = record.kind == LedgerKind::commit;
  if (commits != (record.contributors > 0) || commits != (record.noise_commitment != Digest{})) {
    return wrong("says of contributors and noise what a " + std::string(to_string(record.kind)) + " cannot");
  }
  return {};
}

}  // namespace coterie
