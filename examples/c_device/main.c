// A device in C: enrolls if it has to, takes part in rounds of training on the examples of one file, and says
// what it does. README.md says how to build and run it.
#include <coterie.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int on_progress(void* context, const coterie_progress* progress) {
  const coterie_client* client = *(coterie_client**)context;
  if (progress->activity == COTERIE_ACTIVITY_WAITING) return 0;
  printf("%s: %s", coterie_activity_name(progress->activity), coterie_status_name(progress->step_status));
  if (progress->step_status != COTERIE_OK) printf(": %s", coterie_client_last_error(client));
  if (progress->training_examples > 0) printf(", loss %.3f", progress->training_loss);
  printf(", rounds done %llu\n", (unsigned long long)progress->rounds_done);
  fflush(stdout);
  return 0;  // anything else would end the run
}

int main(int argc, char** argv) {
  const int asked_for_help = argc > 1 && strcmp(argv[1], "--help") == 0;
  const uint64_t rounds = argc > 5 ? strtoull(argv[5], NULL, 10) : 0;
  if (argc < 5 || argc > 6 || (argc == 6 && rounds == 0) || asked_for_help) {
    fprintf(asked_for_help ? stdout : stderr,
            "Usage: c_device SERVER CA_FILE STATE_DIR DATA_FILE [ROUNDS]\n"
            "  SERVER     where devices connect, https://127.0.0.1:8443\n"
            "  CA_FILE    the certificates to trust, PEM; \"\" for the system's\n"
            "  STATE_DIR  the device's identity, and the round it is in the middle of\n"
            "  DATA_FILE  a data set file with its examples\n"
            "  ROUNDS     end after so many accepted updates (default: go on)\n"
            "A new device needs a token from the operator, in the environment: COTERIE_ENROLLMENT_TOKEN.\n");
    return asked_for_help ? 0 : 2;
  }

  char error[512];
  coterie_dataset dataset = {.struct_size = sizeof dataset};
  coterie_status status = coterie_dataset_open(argv[4], &dataset, error, sizeof error);
  if (status != COTERIE_OK) {
    fprintf(stderr, "c_device: the examples: %s: %s\n", coterie_status_name(status), error);
    return 1;
  }
  // Whatever the job's level is, for a look at how it works: an app leaves this out, or asks for more.
  const coterie_policy policy = {.struct_size = sizeof policy, .accepts_none = 1, .cohort_min = 2};
  const coterie_options options = {.struct_size = sizeof options,
                                   .server_url = argv[1],
                                   .ca_file = argv[2],
                                   .state_dir = argv[3],
                                   .enrollment_token = getenv("COTERIE_ENROLLMENT_TOKEN"),
                                   .policy = &policy};
  coterie_client* client = NULL;
  status = coterie_client_open(&options, &dataset, &client, error, sizeof error);
  if (status == COTERIE_OK) {
    status = coterie_client_run(client, rounds, &on_progress, &client);
    if (status != COTERIE_OK) snprintf(error, sizeof error, "%s", coterie_client_last_error(client));
  }
  if (status != COTERIE_OK) fprintf(stderr, "c_device: %s: %s\n", coterie_status_name(status), error);
  coterie_client_close(&client);
  coterie_dataset_close(&dataset);
  return status == COTERIE_OK ? 0 : 1;
}
