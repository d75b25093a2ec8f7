package org.coterie;

/** coterie_thermal: how hot a device is. In the C interface's order. */
public enum Thermal {
  UNKNOWN,
  NOMINAL,
  FAIR,
  SERIOUS,
  CRITICAL
}
