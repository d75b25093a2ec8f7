// A blob as an HTTP answer: ETag, If-None-Match, one byte range, HEAD. What is named by its digest never changes.
#pragma once

#include "fl_server/net/http_types.h"

namespace coterie {

// not_found if there is no such blob.
Result<HttpResponse> blob_response(const RequestHead& head, BlobStore& store, const Digest& digest,
                                   std::string content_type);

}  // namespace coterie
