package org.coterie;

/** coterie_train_progress. */
public final class TrainProgress {
  public final boolean finished;
  public final long steps;
  public final long stepsInAll;
  public final long examples;
  public final double stepLoss;
  public final double lossMean;
  public final double accuracy;
  public final double learningRate;

  TrainProgress(
      boolean finished, long steps, long stepsInAll, long examples, double stepLoss, double lossMean, double accuracy,
      double learningRate) {
    this.finished = finished;
    this.steps = steps;
    this.stepsInAll = stepsInAll;
    this.examples = examples;
    this.stepLoss = stepLoss;
    this.lossMean = lossMean;
    this.accuracy = accuracy;
    this.learningRate = learningRate;
  }
}
