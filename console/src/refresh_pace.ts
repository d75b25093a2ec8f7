// When a page asks again for what events have changed: at once, then no sooner than kRestMs behind the question before, and never while one is out,
// as the page takes the answer to the newest question alone. No clock and no timer.
export const kRestMs = 250;

export class RefreshPace {
  private asked = -Infinity;  // when the last question went out
  private is_out = false;     // and has no answer yet
  private is_due = false;     // something has happened since

  // Something has happened: how many ms to wait before asking; null: it is asked anyhow.
  happened(now: number): number | null {
    if (this.is_due) return null;
    this.is_due = true;
    return this.is_out ? null : this.left(now);
  }
  begin(now: number): void {
    this.asked = now;
    this.is_out = true;
    this.is_due = false;
  }
  // The answer has come: how many ms to wait before asking again; null: there is no need to.
  end(now: number): number | null {
    this.is_out = false;
    return this.is_due ? this.left(now) : null;
  }

  private left(now: number): number { return Math.max(0, this.asked + kRestMs - now); }
}
