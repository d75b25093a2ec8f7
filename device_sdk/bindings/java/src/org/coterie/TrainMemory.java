package org.coterie;

/** coterie_train_memory. */
public final class TrainMemory {
  public final long arenaBytes;
  public final long parameterBytes;
  public final long optimizerBytes;
  public final long gradientBytes;
  public final long plannedBytes;
  public final long orderBytes;
  public final int microBatchSize;
  public final int recomputedSteps;
  public final double recomputedShare;

  TrainMemory(
      long arenaBytes, long parameterBytes, long optimizerBytes, long gradientBytes, long plannedBytes, long orderBytes,
      int microBatchSize, int recomputedSteps, double recomputedShare) {
    this.arenaBytes = arenaBytes;
    this.parameterBytes = parameterBytes;
    this.optimizerBytes = optimizerBytes;
    this.gradientBytes = gradientBytes;
    this.plannedBytes = plannedBytes;
    this.orderBytes = orderBytes;
    this.microBatchSize = microBatchSize;
    this.recomputedSteps = recomputedSteps;
    this.recomputedShare = recomputedShare;
  }
}
