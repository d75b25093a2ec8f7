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

  ModelInfo(
      byte[] name,
      int inputCount,
      int outputCount,
      int parameterCount,
      long parameters,
      long flatCount,
      long fileBytes,
      double flops) {
    this.name = Native.text(name);
    this.inputCount = inputCount;
    this.outputCount = outputCount;
    this.parameterCount = parameterCount;
    this.parameters = parameters;
    this.flatCount = flatCount;
    this.fileBytes = fileBytes;
    this.flops = flops;
  }
}
