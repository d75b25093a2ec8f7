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

struct Part {  // of one session
  const secagg::Opening* opening;
  size_t session, part, parts;
};
struct OpenedPart {
  std::vector<uint32_t> blamed;
  MaskSum masks;
};

std::vector<Part> parts_of(std::span<const secagg::Server* const> sessions) {
  std::vector<Part> all;
  for (size_t session = 0; session < sessions.size(); ++session) {
    const secagg::Opening& opening = sessions[session]->opening();
    const size_t parts = std::max<size_t>(1, (opening.target_count() + kTargetsPerPart - 1) / kTargetsPerPart);
    for (size_t part = 0; part < parts; ++part) all.push_back({&opening, session, part, parts});
  }
  return all;
}

Result<OpenedPart> open_part(const Part& part, CipherSuite suite) {
  COT_ASSIGN(secagg::OpenedMasks opened, part.opening->open(part.part, part.parts));
  COT_ASSIGN(MaskSum masks, secagg::to_mask_sum(suite, opened.masks));
  return OpenedPart{std::move(opened.blamed), std::move(masks)};
}

}  // namespace

Result<SumMasks> open_masks(std::span<const secagg::Server* const> sessions,
                            const secagg::SessionParameters& parameters, WorkPool& pool) {
  const std::vector<Part> parts = parts_of(sessions);
  std::vector<std::optional<Result<OpenedPart>>> opened(parts.size());
  pool.run_parts(parts.size(), [&](size_t part) { opened[part] = open_part(parts[part], parameters.suite); });

  std::vector<MaskSum> masks;
  for (size_t session = 0; session < sessions.size(); ++session) {
    COT_ASSIGN(MaskSum own, MaskSum::make(parameters.suite));
    masks.push_back(std::move(own));
  }
  std::set<std::pair<size_t, uint32_t>> blamed;  // a device of a session
  for (size_t part = 0; part < parts.size(); ++part) {
    COT_ASSIGN(OpenedPart done, std::move(*opened[part]));
    for (const uint32_t device : done.blamed) blamed.emplace(parts[part].session, device);
    masks[parts[part].session].take(std::move(done.masks));
  }
  // Corrected, so the sum is right all the same; but honest devices send no wrong shares.
  if (!blamed.empty()) log(LogLevel::warning, "wrong_shares", {{"devices", blamed.size()}});
  std::vector<secagg::SummedSession> summed;
  for (const secagg::Server* session : sessions) summed.push_back({session->session(), session->survivors().size()});
  return SumMasks{.parameters = parameters, .sessions = std::move(summed), .masks = std::move(masks)};
}

}  // namespace coterie
