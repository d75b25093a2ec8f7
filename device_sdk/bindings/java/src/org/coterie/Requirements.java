package org.coterie;

/**
 * The members of coterie_requirements, with the same meaning: what the device must be like before a client does
 * anything, and what it may spend in a day of UTC. What is left alone is not asked for, and has no limit.
 */
public final class Requirements {
  public boolean idle;
  public boolean charging;
  public boolean unmetered;
  public boolean foreground;
  public boolean background;
  public int batteryPercentMin;
  public Thermal thermalMax = Thermal.UNKNOWN;
  public long freeMemoryBytesMin;
  public double cpuSecondsPerDay;
  public long uploadBytesPerDay;
  public long downloadBytesPerDay;
  /** An estimate: CPU seconds times watts, which it needs. */
  public double joulesPerDay;
  public double watts;
  /** What the device trains in jobs that let it choose a width: memory of a training, and a share of the channels. */
  public long trainingBytesMax;
  public double widthMax;

  long[] integers() {
    return new long[] {
      idle ? 1 : 0, charging ? 1 : 0, unmetered ? 1 : 0, foreground ? 1 : 0, background ? 1 : 0, batteryPercentMin,
      thermalMax.ordinal(), freeMemoryBytesMin, uploadBytesPerDay, downloadBytesPerDay,
      trainingBytesMax
    };
  }

  double[] amounts() {
    return new double[] {cpuSecondsPerDay, joulesPerDay, watts, widthMax};
  }
}
