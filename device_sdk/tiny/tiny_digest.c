/* Content digests: the Merkle tree hash of RFC 9162, section 2.1.1, over leaves of 4096 bytes. */
#include "device_sdk/tiny/tiny_parts.h"

enum { LEAF_BYTES = 4096, LEAVES_MAX = 1 << 24 };

static void begin_hash(coterie_tiny* device, uint8_t first) {
  device->board->hash_begin(device->board->context);
  device->board->hash_add(device->board->context, &first, 1);
}

static void end_leaf(tiny_digest* digest) {
  digest->device->board->hash_end(digest->device->board->context, digest->device->digests[digest->height++]);
  digest->in_leaf = 0;
  ++digest->leaves;
}

/* The two last subtrees become one. */
static void join(tiny_digest* digest) {
  coterie_tiny* device = digest->device;
  begin_hash(device, 1);
  device->board->hash_add(device->board->context, device->digests[digest->height - 2], 32);
  device->board->hash_add(device->board->context, device->digests[digest->height - 1], 32);
  device->board->hash_end(device->board->context, device->digests[digest->height - 2]);
  --digest->height;
}

void tiny_digest_begin(tiny_digest* digest, coterie_tiny* device) {
  digest->device = device;
  digest->leaves = 0;
  digest->in_leaf = digest->height = 0;
}

int tiny_digest_add(tiny_digest* digest, const uint8_t* bytes, uint32_t count) {
  coterie_tiny* device = digest->device;
  while (count > 0) {
    uint32_t part = LEAF_BYTES - digest->in_leaf;
    if (digest->leaves >= LEAVES_MAX - 1) return 0;
    if (part > count) part = count;
    if (digest->in_leaf == 0) begin_hash(device, 0);
    device->board->hash_add(device->board->context, bytes, part);
    digest->in_leaf += part;
    bytes += part;
    count -= part;
    if (digest->in_leaf < LEAF_BYTES) continue;
    end_leaf(digest);
    for (uint64_t n = digest->leaves; n % 2 == 0; n /= 2) join(digest);
  }
  return 1;
}

void tiny_digest_end(tiny_digest* digest, uint8_t to[32]) {
  coterie_tiny* device = digest->device;
  if (digest->in_leaf > 0) end_leaf(digest);
  if (digest->height == 0) {
    device->board->hash_begin(device->board->context);
    device->board->hash_end(device->board->context, to);
    return;
  }
  while (digest->height > 1) join(digest);
  for (uint32_t i = 0; i < 32; ++i) to[i] = device->digests[0][i];
}
