/* How a library that is preloaded into a server finds what it shares with the test that started it. Plain C. */
#pragma once

#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The file that the environment names, mapped; null if it names none, or none that can be opened. By system calls, so
   that nothing here depends on who else is preloaded. */
static inline void* map_preloaded_control(const char* variable, size_t size) {
  const char* path = getenv(variable);
  const int fd = path == NULL ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
  if (fd < 0) return NULL;
  void* mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  syscall(SYS_close, fd);
  return mapped == MAP_FAILED ? NULL : mapped;
}
