package org.coterie;

/** coterie_head: what one of several heads ({@link TrainOptions#heads}) has come to. */
public final class Head {
  public final String output;
  public final String loss;
  public final double weight;
  public final long rows; // of the output that were compared
  public final double lossMean; // of those; not weighted
  public final String measure; // "accuracy", in [0, 1]; "mae"; or "none"
  public final double value; // of that

  Head(byte[] output, byte[] loss, double weight, long rows, double lossMean, byte[] measure, double value) {
    this.output = Native.text(output);
    this.loss = Native.text(loss);
    this.weight = weight;
    this.rows = rows;
    this.lossMean = lossMean;
    this.measure = Native.text(measure);
    this.value = value;
  }
}
