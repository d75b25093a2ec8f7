// What every handle has, and the fence around everything that is done with one.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/result.h"
#include "device_sdk/c_api/fence.h"
#include "device_sdk/c_api/structs.h"

namespace coterie {

struct Handle {
  bool poisoned = false;
  std::string last_error;

  coterie_status fail(const Error& error) {
    last_error = error.message();
    return status_of(error);
  }

  void poison(const char* why) {
    poisoned = true;
    last_error = std::string("a defect inside the library: ") + why;
  }
};

inline Error null_argument(const char* what) {
  return Error(ErrorCode::invalid_argument, std::string(what) + " must not be NULL");
}

// Runs `body`, returning coterie_status, unless there is nothing to run it on.
template <typename H, typename Body>
coterie_status with_status(H* handle, Body body) {
  if (handle == nullptr) return COTERIE_INVALID_ARGUMENT;
  if (handle->poisoned) return COTERIE_INTERNAL;
  return fenced(body, [handle](const char* why) { handle->poison(why); });
}

// The same with a `body` that returns Status.
template <typename H, typename Body>
coterie_status with(H* handle, Body body) {
  return with_status(handle, [&]() -> coterie_status {
    const Status done = body();
    return done ? COTERIE_OK : handle->fail(done.error());
  });
}

// *handle becomes what `make` returns, a Result<std::unique_ptr<H>>; or NULL, and the text says why.
template <typename H, typename Make>
coterie_status open_handle(H** handle, const char* name, Make make, char* error_text, size_t error_text_size) {
  std::string message;
  if (handle != nullptr) *handle = nullptr;
  install_assert_handler();
  const auto body = [&]() -> coterie_status {
    Result<std::unique_ptr<H>> made = handle == nullptr ? null_argument(name) : make();
    if (!made) {
      message = made.error().message();
      return status_of(made.error());
    }
    *handle = made->release();
    return COTERIE_OK;
  };
  const coterie_status status = fenced(body, [&message](const char* why) { message = why; });
  write_text(message, error_text, error_text_size);
  return status;
}

template <typename H>
void close_handle(H** handle) {
  if (handle != nullptr) delete std::exchange(*handle, nullptr);
}

}  // namespace coterie
