// An OpenSSL BIO on a socket that never raises SIGPIPE: OpenSSL's own writes with write(2), and a connection that its
// peer has closed would kill a process that does not ignore the signal: a host app, or a test with a server in it.
#pragma once

#include <openssl/bio.h>

namespace coterie {

// Does not own `fd`, which must be non-blocking and outlive the BIO. The caller owns the BIO.
BIO* make_socket_bio(int fd);

}  // namespace coterie
