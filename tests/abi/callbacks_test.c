// The app's own HTTPS: every way in which it can fail or be wrong, and runs that end.
#include "tests/abi/check.h"

typedef struct script {
  int result;        // of send
  int status;        // 0: not given
  const char* body;  // NULL: none
  int body_first;    // before the status
  int null_everywhere;
  int calls;
  int body_result;  // what coterie_http_reply_body returned last
  char target[64];
  coterie_client* client_to_cancel;
} script;

static int scripted(void* context, const coterie_http_request* request, coterie_http_reply* reply) {
  script* s = context;
  ++s->calls;
  CHECK(request->struct_size == sizeof *request && request->method != NULL);
  CHECK(request->body_bytes == 0 || request->content_type != NULL);
  snprintf(s->target, sizeof s->target, "%s", request->target);
  if (s->client_to_cancel != NULL) coterie_client_cancel(s->client_to_cancel);
  if (s->null_everywhere) {
    coterie_http_reply_status(NULL, 200);
    coterie_http_reply_header(NULL, "a", "b");
    CHECK(coterie_http_reply_body(NULL, NULL, 0) != 0);
    coterie_http_reply_header(reply, NULL, "b");
    coterie_http_reply_header(reply, "a", NULL);
  }
  const uint8_t* body = (const uint8_t*)s->body;
  if (s->body_first) s->body_result = coterie_http_reply_body(reply, body, strlen(s->body));
  if (s->status != 0) coterie_http_reply_status(reply, s->status);
  coterie_http_reply_header(reply, "Content-Type", "text/html");
  if (s->null_everywhere) s->body_result = coterie_http_reply_body(reply, NULL, 5);
  if (s->body != NULL && !s->body_first) s->body_result = coterie_http_reply_body(reply, body, strlen(s->body));
  return s->result;
}

static coterie_client* open_over(script* s, coterie_transport* transport) {
  char error[512];
  const coterie_dataset dataset = good_dataset();
  coterie_options options = good_options();
  transport->struct_size = sizeof *transport;
  transport->context = s;
  transport->send = &scripted;
  options.transport = transport;
  coterie_client* client = NULL;
  CHECK_STATUS(coterie_client_open(&options, &dataset, &client, error, sizeof error), COTERIE_OK);
  return client;
}

// What a new device's first step, an enrollment, makes of this answer.
static void expect_step(script s, coterie_activity activity, coterie_status step_status, const char* words) {
  coterie_transport transport;
  new_case_directory();
  coterie_client* client = open_over(&s, &transport);
  coterie_progress progress = {.struct_size = sizeof progress};
  CHECK_STATUS(coterie_client_step(client, &progress), COTERIE_OK);
  CHECK(progress.activity == activity && s.calls == 1);
  CHECK_STATUS(progress.step_status, step_status);
  CHECK_CONTAINS(coterie_client_last_error(client), words);
  CHECK(strcmp(s.target, "/v1/enrollments") == 0);
  coterie_client_close(&client);
}

void test_transport_answers(void) {
  const coterie_activity enrolled = COTERIE_ACTIVITY_ENROLLED;
  expect_step((script){.result = 1}, enrolled, COTERIE_UNAVAILABLE, "got no answer");
  expect_step((script){.result = -1, .status = 200, .body = "x"}, enrolled, COTERIE_UNAVAILABLE, "got no answer");
  expect_step((script){.result = 0}, enrolled, COTERIE_UNAVAILABLE, "got no answer");
  expect_step((script){.status = 500, .body = "<html>"}, enrolled, COTERIE_UNAVAILABLE, "answered 500");
  expect_step((script){.status = 429}, enrolled, COTERIE_RATE_LIMITED, "answered 429");
  expect_step((script){.status = 408}, enrolled, COTERIE_TIMED_OUT, "answered 408");
  expect_step((script){.status = 401}, enrolled, COTERIE_UNAUTHENTICATED, "answered 401");
  expect_step((script){.status = 403}, enrolled, COTERIE_PERMISSION_DENIED, "answered 403");
  expect_step((script){.status = 404}, enrolled, COTERIE_NOT_FOUND, "answered 404");
  expect_step((script){.status = 302}, enrolled, COTERIE_INVALID_ARGUMENT, "answered 302");
  expect_step((script){.status = -7}, enrolled, COTERIE_INVALID_ARGUMENT, "answered -7");
  expect_step((script){.status = 200, .body = "no frame"}, enrolled, COTERIE_UNAVAILABLE, "not understood");
  expect_step((script){.status = 200}, enrolled, COTERIE_UNAVAILABLE, "not understood");
}

void test_transport_misuse(void) {
  const coterie_activity enrolled = COTERIE_ACTIVITY_ENROLLED;
  expect_step((script){.status = 200, .body = "x", .body_first = 1}, enrolled, COTERIE_INVALID_ARGUMENT,
              "a body before a status");
  expect_step((script){.status = 200, .null_everywhere = 1}, enrolled, COTERIE_INVALID_ARGUMENT, "a body that is NULL");

  // More than any answer can be: the library says stop, and means it.
  static char huge[300 * 1024];
  memset(huge, 'x', sizeof huge - 1);
  script s = {.status = 200, .body = huge};
  coterie_transport transport;
  new_case_directory();
  coterie_client* client = open_over(&s, &transport);
  coterie_progress progress = {.struct_size = sizeof progress};
  CHECK_STATUS(coterie_client_step(client, &progress), COTERIE_OK);
  CHECK(s.body_result != 0);
  CHECK_STATUS(progress.step_status, COTERIE_TOO_LARGE);

  // Enrollment that can never succeed is the operator's to look at, until the client is opened again.
  CHECK_STATUS(coterie_client_step(client, &progress), COTERIE_OK);
  CHECK(progress.activity == COTERIE_ACTIVITY_STOPPED && s.calls == 1);
  CHECK_STATUS(coterie_client_run(client, 1, NULL, NULL), COTERIE_TOO_LARGE);
  coterie_client_close(&client);
}

static int stop_after(void* context, const coterie_progress* progress) {
  CHECK(progress->struct_size == sizeof *progress);
  int* left = context;
  return --*left <= 0;
}

void test_run(void) {
  script s = {.result = 1};
  coterie_transport transport;
  coterie_client* client = open_over(&s, &transport);
  int left = 1;
  CHECK_STATUS(coterie_client_run(client, UINT64_MAX, &stop_after, &left), COTERIE_OK);
  CHECK(left == 0 && s.calls == 1);
  coterie_client_close(&client);

  // A cancel from within a request ends the run; the next opening tries the same request at once.
  new_case_directory();
  client = open_over(&s, &transport);
  s = (script){.result = 1, .client_to_cancel = client};
  coterie_progress progress = {.struct_size = sizeof progress};
  CHECK_STATUS(coterie_client_step(client, &progress), COTERIE_OK);
  CHECK_STATUS(progress.step_status, COTERIE_CANCELLED);
  CHECK_STATUS(coterie_client_run(client, 1, NULL, NULL), COTERIE_CANCELLED);
  coterie_client_close(&client);
  s = (script){.result = 1};
  client = open_over(&s, &transport);
  CHECK_STATUS(coterie_client_step(client, &progress), COTERIE_OK);
  CHECK(progress.activity == COTERIE_ACTIVITY_ENROLLED && s.calls == 1);
  coterie_client_close(&client);
}
