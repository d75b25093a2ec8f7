// When a page asks again for what events have changed. What is news is asked for at once: what ends a round, though the round was asked for a
// moment ago. What only moves a round on waits for kMovedMs: news may come that has it with it, which then finds no question of the row spent.
// Of the last kInARow questions the first is as many times kRestMs back, and none goes out while one is out, as the page takes the answer to the
// newest alone. No clock and no timer.
export const kRestMs = 250, kMovedMs = 1000, kInARow = 3;

const kNews = new Set("round_done round_failed job_state_changed job_completed job_failed model_released over closed events_missed".split(" "));
export const is_news = (kind: string) => kNews.has(kind);

export class RefreshPace {
  private asked: number[] = [];       // when the last questions went out, at most kInARow, the oldest first
  private is_out = false;             // the last of them has no answer yet
  private due: number | null = null;  // when the next is to go out, for what has happened since; null: nothing has

  // Something has happened: how many ms to wait before asking; null: it is asked by then anyhow.
  happened(now: number, news: boolean): number | null {
    const due = now + (news ? 0 : kMovedMs);
    if (this.due !== null && this.due <= due) return null;
    this.due = due;
    return this.left(now);
  }
  begin(now: number): void {
    this.asked = [...this.asked, now].slice(-kInARow);
    this.is_out = true;
    this.due = null;
  }
  // The answer has come: how many ms to wait before asking again; null: there is no need to.
  end(now: number): number | null {
    this.is_out = false;
    return this.left(now);
  }
  // Likewise, whenever it is asked: a wait that began before may be over for nothing, or too early.
  left(now: number): number | null {
    if (this.is_out || this.due === null) return null;
    const rested = this.asked.length < kInARow ? now : this.asked[0] + kInARow * kRestMs;
    return Math.max(0, this.due - now, rested - now);
  }
}
