/* A disk that fails when it is told to: preloaded (LD_PRELOAD) in front of libc. Under ASan, too: clang links its
   runtime into the program, whose interceptors call the next library's function, which is ours. System calls are made
   directly, so that nothing here depends on who else is preloaded. See disk_faults.h. */
#define _GNU_SOURCE
#include "tests/chaos/disk_faults.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/chaos/preloaded_control.h"

static struct disk_faults* g_control;
static int g_short_fd = -1; /* the file whose disk is full in the middle of a write */

#define LOAD(field) __atomic_load_n(&g_control->field, __ATOMIC_SEQ_CST)

__attribute__((constructor)) static void begin(void) {
  g_control = map_preloaded_control(DISK_FAULTS_CONTROL, sizeof *g_control);
}

static int is_ours(const char* path) { return strncmp(path, g_control->under, strlen(g_control->under)) == 0; }

/* Whether this operation is to fail. */
static int strikes(int kind, const char* name, const char* path) {
  if (g_control == NULL || !is_ours(path)) return 0;
  const uint64_t number = __atomic_add_fetch(&g_control->count, 1, __ATOMIC_SEQ_CST);
  uint64_t at = LOAD(strike_at);
  if (at == 0 || number < at || (LOAD(kinds) & (uint32_t)kind) == 0) return 0;
  /* One of those that come at the same time. */
  if (LOAD(lasts) == 0 &&
      !__atomic_compare_exchange_n(&g_control->strike_at, &at, 0, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
    return 0;
  snprintf(g_control->struck, sizeof g_control->struck, "%s %s", name, path);
  __atomic_add_fetch(&g_control->strikes, 1, __ATOMIC_SEQ_CST);
  return 1;
}

static int strikes_fd(int kind, const char* name, int fd) {
  if (g_control == NULL) return 0;
  char link[64], path[DISK_FAULTS_PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const long size = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
  if (size <= 0) return 0;
  path[size] = '\0';
  return strikes(kind, name, path);
}

static int fail(void) {
  errno = LOAD(error) == 0 ? ENOSPC : (int)LOAD(error);
  return -1;
}

/* How much of a write is written: all, or half of it (`*fails` stays 0), or nothing. */
static size_t share(const char* name, int fd, size_t size, int* fails) {
  *fails = 0;
  if (g_control != NULL && __atomic_load_n(&g_short_fd, __ATOMIC_SEQ_CST) == fd) {
    __atomic_store_n(&g_short_fd, -1, __ATOMIC_SEQ_CST);
    *fails = 1;
    return 0;
  }
  if (!strikes_fd(DISK_WRITE, name, fd)) return size;
  if (LOAD(error) == 0 && size > 1) {
    __atomic_store_n(&g_short_fd, fd, __ATOMIC_SEQ_CST);
    return size / 2;
  }
  *fails = 1;
  return 0;
}

#define EXPORT __attribute__((visibility("default")))

EXPORT ssize_t write(int fd, const void* bytes, size_t size) {
  int fails;
  const size_t part = share("write", fd, size, &fails);
  return fails ? fail() : syscall(SYS_write, fd, bytes, part);
}

EXPORT ssize_t pwrite(int fd, const void* bytes, size_t size, off_t at) {
  int fails;
  const size_t part = share("pwrite", fd, size, &fails);
  return fails ? fail() : syscall(SYS_pwrite64, fd, bytes, part, at);
}
EXPORT ssize_t pwrite64(int fd, const void* bytes, size_t size, off_t at) { return pwrite(fd, bytes, size, at); }

EXPORT int ftruncate(int fd, off_t size) {
  return strikes_fd(DISK_WRITE, "ftruncate", fd) ? fail() : (int)syscall(SYS_ftruncate, fd, size);
}
EXPORT int ftruncate64(int fd, off_t size) { return ftruncate(fd, size); }

EXPORT int fsync(int fd) { return strikes_fd(DISK_SYNC, "fsync", fd) ? fail() : (int)syscall(SYS_fsync, fd); }
EXPORT int fdatasync(int fd) {
  return strikes_fd(DISK_SYNC, "fdatasync", fd) ? fail() : (int)syscall(SYS_fdatasync, fd);
}

EXPORT int rename(const char* from, const char* to) {
  return strikes(DISK_RENAME, "rename", to) ? fail() : (int)syscall(SYS_rename, from, to);
}

static int open_any(int directory, const char* path, int flags, mode_t mode) {
  const int writes = (flags & O_ACCMODE) != O_RDONLY || (flags & O_CREAT) != 0;
  if (writes && strikes(DISK_OPEN, "open", path)) return fail();
  return (int)syscall(SYS_openat, directory, path, flags, mode);
}

#define MODE_OF(flags, mode)                    \
  mode_t mode = 0;                              \
  if (((flags) & (O_CREAT | O_TMPFILE)) != 0) { \
    va_list rest;                               \
    va_start(rest, flags);                      \
    mode = (mode_t)va_arg(rest, int);           \
    va_end(rest);                               \
  }

EXPORT int open(const char* path, int flags, ...) {
  MODE_OF(flags, mode)
  return open_any(AT_FDCWD, path, flags, mode);
}
EXPORT int open64(const char* path, int flags, ...) {
  MODE_OF(flags, mode)
  return open_any(AT_FDCWD, path, flags, mode);
}
EXPORT int openat(int directory, const char* path, int flags, ...) {
  MODE_OF(flags, mode)
  return open_any(directory, path, flags, mode);
}
