package org.coterie;

/** coterie_hold: what holds a client back. In the C interface's order; UNKNOWN is one of a later library. */
public enum Hold {
  NONE,
  IDLE,
  CHARGING,
  UNMETERED,
  FOREGROUND,
  BACKGROUND,
  BATTERY,
  THERMAL,
  FREE_MEMORY,
  CPU_BUDGET,
  UPLOAD_BUDGET,
  DOWNLOAD_BUDGET,
  ENERGY_BUDGET,
  UNKNOWN;

  static Hold of(int value) {
    return value >= 0 && value < UNKNOWN.ordinal() ? values()[value] : UNKNOWN;
  }
}
