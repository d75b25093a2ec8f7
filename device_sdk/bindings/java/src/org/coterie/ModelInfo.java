package org.coterie;

/** coterie_model_info. */
public final class ModelInfo {
  public final String name;
  public final int inputCount;
  /** Its own with them: what output(index) counts. */
  public final int outputCount;

  public final int parameterCount;
  public final long parameters;
  public final long flatCount;
  public final long fileBytes;
  public final double flops;
  /** It predicts and is evaluated by integers, and is not trained. */
  public final boolean computesInInt8;

  ModelInfo(
      byte[] name,
      int inputCount,
      int outputCount,
      int parameterCount,
      long parameters,
      long flatCount,
      long fileBytes,
      double flops,
      boolean computesInInt8) {
    this.name = Native.text(name);
    this.inputCount = inputCount;
    this.outputCount = outputCount;
    this.parameterCount = parameterCount;
    this.parameters = parameters;
    this.flatCount = flatCount;
    this.fileBytes = fileBytes;
    this.flops = flops;
    this.computesInInt8 = computesInInt8;
  }
}
