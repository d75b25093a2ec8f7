package org.coterie;

/** coterie_security_level: who may learn what of an update. In the C interface's order. */
public enum SecurityLevel {
  NONE,
  MASKED,
  ACTIVE,
  ACTIVE_DP
}
