// Answers of the device plane: frames, and errors as frames.
#pragma once

#include "base/error.h"
#include "fl_server/net/http_types.h"
#include "proto/messages/checkin.h"

namespace coterie {

HttpResponse frame_response(Bytes frame, int status = 200);

// The window says when to ask again, where the error's kind allows that; none given (0, 0): the default's, where
// devices go by one.
HttpResponse error_response(const Error& error, const RetryWindow& window);

}  // namespace coterie
