package org.coterie;

/** The members of coterie_policy, with the same meaning; 0 is its default. */
public final class Policy {
  /** null is the default; NONE is said aloud. */
  public SecurityLevel securityLevelMin;
  public int cohortMin;
  public double epsilonRoundMax;
  public double epsilonTotalMax;
  public double deltaMax;
  public long separationMin;
  public double corruptShareMin;
  public int attemptsMax;
  public int openingsMax;
  /** Whether this device counts its examples for jobs that train nothing. */
  public boolean acceptsAnalytics;
}
