package org.coterie;

/** coterie_refusal: a plan that this device did not train under, because of its policy. */
public final class Refusal {
  /** Hears of it inside {@link Client#step}, from which comes what it throws. */
  public interface Listener {
    void onRefused(Refusal refusal);
  }

  public final String reason; // "security_level"; all: coterie_refusal
  public final String text;
  public final String job;
  public final long round;
  public final int attempt;
  public final int cohortMin; // from here on: what the plan promised
  public final SecurityLevel securityLevel;
  public final double epsilonRound; // 0: no differential privacy
  public final double delta;
  public final double epsilonSpent; // by this device so far
  public final double deltaSpent;

  Refusal(
      byte[] reason, byte[] text, byte[] job, long round, int attempt, int cohortMin, int securityLevel,
      double epsilonRound, double delta, double epsilonSpent, double deltaSpent) {
    this.reason = Native.text(reason);
    this.text = Native.text(text);
    this.job = Native.text(job);
    this.round = round;
    this.attempt = attempt;
    this.cohortMin = cohortMin;
    this.securityLevel = SecurityLevel.values()[securityLevel];
    this.epsilonRound = epsilonRound;
    this.delta = delta;
    this.epsilonSpent = epsilonSpent;
    this.deltaSpent = deltaSpent;
  }
}
