#include "device_sdk/agent/metered_transport.h"

#include <algorithm>

#include "base/os/clock.h"

namespace coterie {
namespace {

constexpr uint64_t kLineBytes = 256;  // of the first line and the headers that a transport adds by itself
constexpr uint64_t kHeaderMarks = 4;  // ": " and the line's end

uint64_t bytes_of(const std::vector<std::pair<std::string, std::string>>& headers) {
  uint64_t bytes = kLineBytes;
  for (const auto& [name, value] : headers) bytes += name.size() + value.size() + kHeaderMarks;
  return bytes;
}

}  // namespace

Result<TransportResponse> MeteredTransport::send(const TransportRequest& request, const BodySink& sink) {
  if (!meter_.limits_traffic()) return inner_.send(request, sink);
  WorkAmount reserved{.upload_bytes = bytes_of(request.headers) + request.target.size() + request.body.size(),
                      .download_bytes = kTrafficAheadBytes};
  COT_TRY(meter_.reserve(reserved, os::wall_now()));
  WorkAmount used{.upload_bytes = reserved.upload_bytes};
  const auto charge_ahead = [&]() -> Status {
    if (used.download_bytes + kTrafficAheadBytes <= reserved.download_bytes) return {};
    const uint64_t least = used.download_bytes + kTrafficAheadBytes - reserved.download_bytes;
    const uint64_t left = meter_.left(os::wall_now()).download_bytes;
    const WorkAmount next{.download_bytes = std::max(least, std::min(left, least + kTrafficStepBytes))};
    COT_TRY(meter_.reserve(next, os::wall_now()));
    reserved.download_bytes += next.download_bytes;
    return {};
  };
  const BodySink metered = [&](const TransportResponse& head, ByteView piece) -> Status {
    if (used.download_bytes == 0) used.download_bytes = bytes_of(head.headers);
    used.download_bytes += piece.size();
    COT_TRY(charge_ahead());
    return sink(head, piece);
  };
  Result<TransportResponse> answer = inner_.send(request, metered);
  if (answer && used.download_bytes == 0) used.download_bytes = bytes_of(answer->headers);
  meter_.settle(reserved, used);
  return answer;
}

}  // namespace coterie
