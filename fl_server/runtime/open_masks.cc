#include "fl_server/runtime/open_masks.h"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "base/log.h"

namespace coterie {
namespace {

// A part computes the weights of its interpolation anew, which costs some ten secrets' time.
constexpr size_t kTargetsPerPart = 32;

struct OpenedPart {
  std::vector<uint32_t> blamed;
  MaskSum masks;
};

Result<OpenedPart> open_part(const secagg::Opening& opening, CipherSuite suite, size_t part, size_t parts) {
  COT_ASSIGN(secagg::OpenedMasks opened, opening.open(part, parts));
  COT_ASSIGN(MaskSum masks, secagg::to_mask_sum(suite, opened.masks));
  return OpenedPart{std::move(opened.blamed), std::move(masks)};
}

}  // namespace

Result<SumMasks> open_masks(const secagg::Server& session, const secagg::SessionParameters& parameters, WorkPool& pool) {
  const secagg::Opening& opening = session.opening();
  const size_t parts = std::max<size_t>(1, (opening.target_count() + kTargetsPerPart - 1) / kTargetsPerPart);
  std::vector<std::optional<Result<OpenedPart>>> opened(parts);
  pool.run_parts(parts, [&](size_t part) { opened[part] = open_part(opening, parameters.suite, part, parts); });

  COT_ASSIGN(MaskSum masks, MaskSum::make(parameters.suite));
  std::set<uint32_t> blamed;
  for (auto& part : opened) {
    COT_ASSIGN(OpenedPart done, std::move(*part));
    blamed.insert(done.blamed.begin(), done.blamed.end());
    masks.take(std::move(done.masks));
  }
  if (!blamed.empty()) log(LogLevel::warning, "wrong_shares", {{"devices", blamed.size()}});
  return SumMasks{.parameters = parameters,
                  .session = session.session(),
                  .survivors = session.survivors().size(),
                  .masks = std::move(masks)};
}

}  // namespace coterie
