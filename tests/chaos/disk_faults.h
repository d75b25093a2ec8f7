/* What disk_faults.c, preloaded into a server, shares with the test that started it: a mapped file, so that neither
   needs a call that could fail. Plain C: it is compiled into both. Fields are read and written with __atomic builtins.
 */
#pragma once

#include <stdint.h>

/* The environment names the control file, and the preloaded library. */
#define DISK_FAULTS_CONTROL "COTERIE_DISK_FAULTS"

enum { DISK_FAULTS_PATH_MAX = 512 };

/* Kinds of operations, as bits of `kinds`. */
enum {
  DISK_OPEN = 1,  /* that creates or may write */
  DISK_WRITE = 2, /* write, pwrite, ftruncate */
  DISK_SYNC = 4,  /* fsync, fdatasync, of files and directories */
  DISK_RENAME = 8,
  DISK_ANY = 15
};

struct disk_faults {
  uint64_t count;     /* operations on files under `under`, of all kinds, so far */
  uint64_t strike_at; /* the number of the one that fails, from 1; 0: none. If it is of another kind than `kinds`: the
                         next one that is */
  uint64_t strikes;   /* that failed so far */
  uint32_t kinds;
  uint32_t error; /* an errno; 0: a write writes half and says so, the next one of the file says ENOSPC */
  uint32_t lasts; /* not only this one fails, but every one until this is 0 again */
  uint32_t padding;
  char under[DISK_FAULTS_PATH_MAX];  /* an absolute path, with its last slash */
  char struck[DISK_FAULTS_PATH_MAX]; /* "fsync /path": the last one that failed */
};
