package acidsql.writer;

import java.time.Instant;
import java.time.ZoneId;
import java.time.zone.ZoneOffsetTransition;
import java.time.zone.ZoneRules;

/** Local times of a zone. Moments that follow each other mostly have the same offset from UTC. */
final class LocalTimes {
  private static final long MICROS = 1000000L;

  private final ZoneRules rules;
  // In microseconds since 1970, between which the offset holds.
  private long from = Long.MAX_VALUE, until = Long.MIN_VALUE, offset;

  LocalTimes(ZoneId zone) {
    rules = zone.getRules();
  }

  /** Returns the local time of a moment; both are microseconds since 1970. */
  long of(long moment) {
    if (moment < from || moment >= until) {
      find(Instant.ofEpochSecond(Math.floorDiv(moment, MICROS)));
    }
    return moment + offset;
  }

  private void find(Instant moment) {
    offset = rules.getOffset(moment).getTotalSeconds() * MICROS;
    // The transition at this very moment is the one before the next second.
    ZoneOffsetTransition before = rules.previousTransition(moment.plusSeconds(1));
    ZoneOffsetTransition after = rules.nextTransition(moment);
    from = before == null ? Long.MIN_VALUE : before.toEpochSecond() * MICROS;
    until = after == null ? Long.MAX_VALUE : after.toEpochSecond() * MICROS;
  }
}
