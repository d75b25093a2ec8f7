package org.coterie;

/** How good a model is on a data set. */
public final class Evaluation {
  public final long examples;
  public final double lossMean;
  public final double accuracy;

  Evaluation(long examples, double lossMean, double accuracy) {
    this.examples = examples;
    this.lossMean = lossMean;
    this.accuracy = accuracy;
  }
}
