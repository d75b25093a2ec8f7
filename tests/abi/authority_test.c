// An authority that certifies devices, and the key that it certifies.
#include <stdint.h>

#include "tests/abi/check.h"

static void expect_open(const coterie_options* options, coterie_status status, const char* words) {
  char error[512] = "";
  const coterie_dataset dataset = good_dataset();
  coterie_client* client = NULL;
  CHECK_STATUS(coterie_client_open(options, &dataset, &client, error, sizeof error), status);
  CHECK_CONTAINS(error, words);
  coterie_client_close(&client);
}

static coterie_identity identity_with(const coterie_options* options) {
  char error[512] = "";
  const coterie_dataset dataset = good_dataset();
  coterie_identity identity = {.struct_size = sizeof identity};
  coterie_client* client = NULL;
  CHECK_STATUS(coterie_client_open(options, &dataset, &client, error, sizeof error), COTERIE_OK);
  CHECK_STATUS(coterie_client_identity(client, &identity), COTERIE_OK);
  CHECK_STATUS(coterie_client_identity(client, NULL), COTERIE_INVALID_ARGUMENT);
  CHECK_STATUS(coterie_client_identity(NULL, &identity), COTERIE_INVALID_ARGUMENT);
  coterie_identity small = {.struct_size = 4};
  CHECK_STATUS(coterie_client_identity(client, &small), COTERIE_INVALID_ARGUMENT);
  CHECK_CONTAINS(coterie_client_last_error(client), "identity.struct_size");
  coterie_client_close(&client);
  return identity;
}

void test_authority(void) {
  coterie_options options = good_options();
  const coterie_identity first = identity_with(&options), again = identity_with(&options);
  CHECK(first.key_algorithm == 1 && first.public_key_size == 32);
  CHECK(memcmp(first.public_key, again.public_key, sizeof first.public_key) == 0);

  const uint8_t no_point[COTERIE_AUTHORITY_KEY_BYTES] = {0};
  const uint8_t certificate[COTERIE_CERTIFICATE_BYTES] = {1, 2, 3};
  options.authority_key = first.public_key; /* a good key, whoever's */
  expect_open(&options, COTERIE_OK, "");
  options.certificate = certificate;
  expect_open(&options, COTERIE_INVALID_ARGUMENT, "is not by this authority for this device's key");
  options.authority_key = no_point;
  expect_open(&options, COTERIE_INVALID_ARGUMENT, "authority_key");
  options.authority_key = NULL;
  expect_open(&options, COTERIE_INVALID_ARGUMENT, "needs the authority_key");

  new_case_directory();
  options = good_options();
  options.use_p256 = 1;
  const coterie_identity p256 = identity_with(&options);
  CHECK(p256.key_algorithm == 2 && p256.public_key_size == COTERIE_PUBLIC_KEY_BYTES_MAX);
}
