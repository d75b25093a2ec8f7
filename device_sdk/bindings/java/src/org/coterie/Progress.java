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
  public final Hold hold; // what holds the client back, if activity is "held"; else NONE
  public final long validationExamples; // held out by the round's plan
  public final double validationLoss; // their lowest mean loss so far; 0 before there is one
  public final boolean stoppedEarly; // training ended for it

  Progress(
      byte[] activity, int status, byte[] statusName, byte[] lastError, long waitMs, long roundsDone, long trainingSteps,
      long trainingExamples, double trainingLoss, Refusal refusal, int hold, long validationExamples,
      double validationLoss, boolean stoppedEarly) {
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
    this.hold = Hold.of(hold);
    this.validationExamples = validationExamples;
    this.validationLoss = validationLoss;
    this.stoppedEarly = stoppedEarly;
  }
}
