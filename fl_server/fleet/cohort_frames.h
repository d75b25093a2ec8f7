// What devices and whoever keeps their sessions of secure aggregation say to each other, as frames: on the device
// plane, and between servers.
#pragma once

#include <optional>
#include <string_view>

#include "fl_server/core/cohort_machine.h"

namespace coterie {

Result<CohortMessage> decode_cohort_message(ByteView frame);
Bytes encode(const CohortMessage& message);

// The name of the message that a device waits for: roster_view, share_inbox, confirm_request, unmask_request.
std::optional<CohortQuestion> cohort_question_from(std::string_view name);
std::string_view to_string(CohortQuestion question);

// Not NotYet: it has no frame.
Bytes encode(const CohortReply& reply);
Result<CohortReply> decode_cohort_reply(ByteView frame);

}  // namespace coterie
