// An OpenSSL BIO on a socket that never raises SIGPIPE: OpenSSL's own writes with write(2), which would kill a host app
// that does not expect it.
#pragma once

#include <openssl/bio.h>

namespace coterie {

// Does not own `fd`, which must be non-blocking and outlive the BIO. The caller owns the BIO.
BIO* make_socket_bio(int fd);

}  // namespace coterie
