package org.coterie;

/** coterie_model_info. */
public final class ModelInfo {
  public final String name;
  public final int inputCount;
  public final int parameterCount;
  public final long parameters;
  public final long flatCount;
  public final long fileBytes;
  public final double flops;

  ModelInfo(
      byte[] name, int inputCount, int parameterCount, long parameters, long flatCount, long fileBytes, double flops) {
    this.name = Native.text(name);
    this.inputCount = inputCount;
    this.parameterCount = parameterCount;
    this.parameters = parameters;
    this.flatCount = flatCount;
    this.fileBytes = fileBytes;
    this.flops = flops;
  }
}
