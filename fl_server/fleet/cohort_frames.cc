#include "fl_server/fleet/cohort_frames.h"

#include "base/assert.h"
#include "proto/codec/frame.h"
#include "proto/codec/secagg_codec.h"

namespace coterie {
namespace {

template <typename Variant, typename T>
Result<Variant> as(Result<T> decoded) {
  if (!decoded) return decoded.error();
  return Variant(std::move(*decoded));
}

Error not_of(FrameKind kind, const char* whose) {
  return Error(ErrorCode::malformed,
               "session: a " + std::string(to_string(kind)) + " frame is no message of a " + whose);
}

}  // namespace

Result<CohortMessage> decode_cohort_message(ByteView frame) {
  COT_ASSIGN(const Prelude prelude, parse_prelude(frame));
  switch (prelude.kind) {
    case FrameKind::key_advert: return as<CohortMessage>(decode_key_advert(frame));
    case FrameKind::holder_choice: return as<CohortMessage>(decode_holder_choice(frame));
    case FrameKind::sealed_shares: return as<CohortMessage>(decode_sealed_shares(frame));
    case FrameKind::confirmation: return as<CohortMessage>(decode_confirmation(frame));
    case FrameKind::unmasking: return as<CohortMessage>(decode_unmasking(frame));
    default: return not_of(prelude.kind, "device");
  }
}

Bytes encode(const CohortMessage& message) {
  return std::visit([](const auto& one) { return encode(one); }, message);
}

std::optional<CohortQuestion> cohort_question_from(std::string_view name) {
  for (const CohortQuestion question : {CohortQuestion::roster, CohortQuestion::share_inbox,
                                        CohortQuestion::confirm_request, CohortQuestion::unmask_request}) {
    if (name == to_string(question)) return question;
  }
  return std::nullopt;
}

std::string_view to_string(CohortQuestion question) {
  switch (question) {
    case CohortQuestion::roster: return "roster_view";
    case CohortQuestion::share_inbox: return "share_inbox";
    case CohortQuestion::confirm_request: return "confirm_request";
    case CohortQuestion::unmask_request: return "unmask_request";
  }
  return "";
}

Bytes encode(const CohortReply& reply) {
  return std::visit(
      [](const auto& message) -> Bytes {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(message)>, NotYet>) {
          COT_ASSERT(false);
          return {};
        } else {
          return encode(message);
        }
      },
      reply);
}

Result<CohortReply> decode_cohort_reply(ByteView frame) {
  COT_ASSIGN(const Prelude prelude, parse_prelude(frame));
  switch (prelude.kind) {
    case FrameKind::roster_slot: return as<CohortReply>(decode_roster_slot(frame));
    case FrameKind::roster_view: return as<CohortReply>(decode_roster_view(frame));
    case FrameKind::share_inbox: return as<CohortReply>(decode_share_inbox(frame));
    case FrameKind::confirm_request: return as<CohortReply>(decode_confirm_request(frame));
    case FrameKind::unmask_request: return as<CohortReply>(decode_unmask_request(frame));
    default: return not_of(prelude.kind, "server");
  }
}

}  // namespace coterie
