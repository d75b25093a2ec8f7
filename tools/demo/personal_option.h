// `--personal` of a demo: what each device keeps to itself, in one word.
#pragma once

#include <string_view>

#include "base/result.h"
#include "proto/messages/personal_settings.h"

namespace coterie {

// "part:dense2.*", "part,first_epochs=1:head.*,bn1.*", "part,norms", "model,lambda=0.5" or "clusters,count=2": patterns
// of parameters stand behind the colon. invalid_argument says what there is; ranges are for problems_of(training) to
// judge.
Result<PersonalSettings> parse_personal(std::string_view text);

// What the demo and the simulation say of the server's model, whose personal part no device trains; empty: nothing.
std::string_view note_of(const PersonalSettings& personal);

}  // namespace coterie
