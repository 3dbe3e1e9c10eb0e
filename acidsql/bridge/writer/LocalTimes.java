package acidsql.writer;

import java.time.Instant;
import java.time.ZoneId;
import java.time.zone.ZoneOffsetTransition;
import java.time.zone.ZoneRules;

/** Local times in a zone. Successive instants usually have the same offset from UTC. */
final class LocalTimes {
  private static final long MICROS = 1000000L;

  private final ZoneRules rules;
  // The offset applies between these times, in microseconds since 1970.
  private long from = Long.MAX_VALUE, until = Long.MIN_VALUE, offset;

  LocalTimes(ZoneId zone) {
    rules = zone.getRules();
  }

  /** Returns the local time of an instant; both are microseconds since 1970. */
  long of(long moment) {
    if (moment < from || moment >= until) {
      find(Instant.ofEpochSecond(Math.floorDiv(moment, MICROS)));
    }
    return moment + offset;
  }

  private void find(Instant moment) {
    offset = rules.getOffset(moment).getTotalSeconds() * MICROS;
    // A transition at exactly this instant is the previous one before the next second.
    ZoneOffsetTransition before = rules.previousTransition(moment.plusSeconds(1));
    ZoneOffsetTransition after = rules.nextTransition(moment);
    from = before == null ? Long.MIN_VALUE : before.toEpochSecond() * MICROS;
    until = after == null ? Long.MAX_VALUE : after.toEpochSecond() * MICROS;
  }
}
