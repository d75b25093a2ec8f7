package org.coterie;

/** coterie_progress: what one step of a client did, and how it went. */
public final class Progress {
  public final String activity; // "fetched_plan"
  public final int status; // 0 is good; others are normal, the client will try again
  public final String statusName;
  public final String lastError; // "" if nothing went wrong yet
  public final long waitMs; // step again after this long
  public final long roundsDone;
  public final long trainingSteps;
  public final long trainingExamples;
  public final double trainingLoss;
  public final Refusal refusal; // of a plan in this step; null: none

  Progress(
      byte[] activity, int status, byte[] statusName, byte[] lastError, long waitMs, long roundsDone, long trainingSteps,
      long trainingExamples, double trainingLoss, Refusal refusal) {
    this.activity = Native.text(activity);
    this.status = status;
    this.statusName = Native.text(statusName);
    this.lastError = Native.text(lastError);
    this.waitMs = waitMs;
    this.roundsDone = roundsDone;
    this.trainingSteps = trainingSteps;
    this.trainingExamples = trainingExamples;
    this.trainingLoss = trainingLoss;
    this.refusal = refusal;
  }
}
