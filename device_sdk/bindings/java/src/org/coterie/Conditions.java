package org.coterie;

/**
 * The members of coterie_conditions, with the same meaning: what the device is like now. null, 0 and UNKNOWN are
 * unknown, which meets no requirement.
 */
public final class Conditions {
  public Boolean idle;
  public Boolean charging;
  public Boolean unmetered;
  public Boolean foreground;
  /** 1 to 100. */
  public int batteryPercent;
  public Thermal thermal = Thermal.UNKNOWN;
  public long freeMemoryBytes;

  private static long answer(Boolean known) {
    return known == null ? 0 : known ? 2 : 1; // coterie_answer
  }

  long[] integers() {
    return new long[] {
      answer(idle), answer(charging), answer(unmetered), answer(foreground), batteryPercent, thermal.ordinal(),
      freeMemoryBytes
    };
  }
}
