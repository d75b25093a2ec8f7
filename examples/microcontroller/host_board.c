/* The board's functions on Linux: sockets and OpenSSL. On a microcontroller they are lwIP and mbedTLS or Monocypher, or
 * what the vendor has. */
#define _POSIX_C_SOURCE 200809L

#include <netdb.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "board.h"

enum { PATIENCE_S = 60 };

static const char *host_name, *host_port;
static int has_tls, connection = -1;
static SSL_CTX* trust;
static SSL* tls;
static EVP_PKEY* key;
static EVP_MD_CTX* hash;

static void stop(const char* what) {
  fprintf(stderr, "%s\n", what);
  ERR_print_errors_fp(stderr);
  exit(1);
}

static void close_connection(void* context) {
  (void)context;
  if (tls != NULL) SSL_free(tls);
  if (connection >= 0) close(connection);
  tls = NULL;
  connection = -1;
}

static int open_tls(void) {
  tls = SSL_new(trust);
  if (tls == NULL || SSL_set_fd(tls, connection) != 1 || SSL_set_tlsext_host_name(tls, host_name) != 1) return -1;
  SSL_set_hostflags(tls, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  if (SSL_set1_host(tls, host_name) != 1) return -1;
  return SSL_connect(tls) == 1 ? 0 : -1;
}

static int open_connection(void* context) {
  struct addrinfo hints, *found = NULL;
  const struct timeval patience = {PATIENCE_S, 0};
  memset(&hints, 0, sizeof hints);
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(host_name, host_port, &hints, &found) != 0) return -1;
  for (const struct addrinfo* at = found; at != NULL && connection < 0; at = at->ai_next) {
    connection = socket(at->ai_family, at->ai_socktype, at->ai_protocol);
    if (connection >= 0 && connect(connection, at->ai_addr, at->ai_addrlen) == 0) continue;
    close_connection(context);
  }
  freeaddrinfo(found);
  if (connection < 0) return -1;
  (void)setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  (void)setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (!has_tls || open_tls() == 0) return 0;
  ERR_print_errors_fp(stderr);
  close_connection(context);
  return -1;
}

static int send_all(void* context, const uint8_t* bytes, size_t count) {
  (void)context;
  while (count > 0) {
    const long sent = has_tls ? (long)SSL_write(tls, bytes, (int)(count < 16384 ? count : 16384))
                              : (long)send(connection, bytes, count, MSG_NOSIGNAL);
    if (sent <= 0) return -1;
    bytes += sent;
    count -= (size_t)sent;
  }
  return 0;
}

static long receive(void* context, uint8_t* bytes, size_t count_max) {
  (void)context;
  return has_tls ? (long)SSL_read(tls, bytes, (int)count_max) : (long)recv(connection, bytes, count_max, 0);
}

static uint64_t now_ms(void* context) {
  struct timespec now;
  (void)context;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static int random_bytes(void* context, uint8_t* bytes, size_t count) {
  (void)context;
  return RAND_bytes(bytes, (int)count) == 1 ? 0 : -1;
}

static void hash_begin(void* context) {
  (void)context;
  if (EVP_DigestInit_ex(hash, EVP_sha256(), NULL) != 1) stop("SHA-256 does not begin");
}
static void hash_add(void* context, const uint8_t* bytes, size_t count) {
  (void)context;
  if (EVP_DigestUpdate(hash, bytes, count) != 1) stop("SHA-256 does not go on");
}
static void hash_end(void* context, uint8_t digest[32]) {
  (void)context;
  if (EVP_DigestFinal_ex(hash, digest, NULL) != 1) stop("SHA-256 does not end");
}

static int sign(void* context, const uint8_t* text, size_t bytes, uint8_t signature[64]) {
  EVP_MD_CTX* const signer = EVP_MD_CTX_new();
  size_t made = 64;
  const int is_signed = signer != NULL && EVP_DigestSignInit(signer, NULL, NULL, NULL, key) == 1 &&
                        EVP_DigestSign(signer, signature, &made, text, bytes) == 1 && made == 64;
  (void)context;
  EVP_MD_CTX_free(signer);
  return is_signed ? 0 : -1;
}

static int verify(void* context, const uint8_t of[32], const uint8_t* text, size_t bytes, const uint8_t signature[64]) {
  EVP_MD_CTX* const verifier = EVP_MD_CTX_new();
  EVP_PKEY* const theirs = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, of, 32);
  const int is_valid = verifier != NULL && theirs != NULL &&
                       EVP_DigestVerifyInit(verifier, NULL, NULL, NULL, theirs) == 1 &&
                       EVP_DigestVerify(verifier, signature, 64, text, bytes) == 1;
  (void)context;
  EVP_PKEY_free(theirs);
  EVP_MD_CTX_free(verifier);
  return is_valid ? 0 : -1;
}

const coterie_tiny_board* host_board(const char* host, const char* port, const char* ca_file,
                                     const uint8_t secret[32]) {
  static const coterie_tiny_board board = {NULL,         open_connection, close_connection, send_all, receive, now_ms,
                                           random_bytes, hash_begin,      hash_add,         hash_end, sign,    verify};
  host_name = host;
  host_port = port;
  signal(SIGPIPE, SIG_IGN);
  umask(077); /* the key is in a file that this process writes */
  hash = EVP_MD_CTX_new();
  key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, secret, 32);
  if (hash == NULL || key == NULL) stop("OpenSSL has no Ed25519");
  has_tls = strcmp(ca_file, "-") != 0;
  if (!has_tls) return &board;
  trust = SSL_CTX_new(TLS_client_method());
  if (trust == NULL || SSL_CTX_set_min_proto_version(trust, TLS1_3_VERSION) != 1 ||
      SSL_CTX_load_verify_locations(trust, ca_file, NULL) != 1) {
    stop("the file of certificates cannot be read");
  }
  SSL_CTX_set_verify(trust, SSL_VERIFY_PEER, NULL);
  return &board;
}

void host_public_key(uint8_t to[32]) {
  size_t bytes = 32;
  if (EVP_PKEY_get_raw_public_key(key, to, &bytes) != 1 || bytes != 32) stop("the key has no public half");
}

void host_random(uint8_t* bytes, size_t count) {
  if (random_bytes(NULL, bytes, count) != 0) stop("no random bytes");
}

void host_sleep_ms(uint32_t ms) {
  struct timespec left;
  left.tv_sec = (time_t)(ms / 1000);
  left.tv_nsec = (long)(ms % 1000) * 1000000;
  (void)nanosleep(&left, NULL);
}
