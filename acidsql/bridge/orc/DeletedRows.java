package acidsql.orc;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.roaringbitmap.RoaringBitmap;

/** Rows of a file part for which delete events exist. */
final class DeletedRows {
  private final Map byGroup = new HashMap(); // from DeleteEvents.Group without deleter to Deleters
  // The group of the row of the last lookup, and the next deleted row in this group.
  private DeleteEvents.Group group;
  private RoaringBitmap bits;
  private long lastRowId;
  private long next;

  /**
   * Reads the delete events that may apply to rows of a part.
   *
   * @param wanted ranges of the part's row ids
   */
  DeletedRows(Splits.Part part, DeleteEvents.KeyRange wanted, Configuration conf)
      throws Exception {
    for (int i = 0; i < part.deletes.length; i++) {
      Splits.DeleteFile file = part.deletes[i];
      if (wanted.meets(file.bounds)) {
        try {
          add(DeleteEvents.of(file, wanted, part.keepsDeletes, conf), part);
        } catch (Exception error) {
          throw FileReader.failed(file.path, error);
        }
      }
    }
  }

  private void add(DeleteEvents events, Splits.Part part) {
    Iterator each = events.groups();
    while (each.hasNext()) {
      DeleteEvents.Group deleted = (DeleteEvents.Group) each.next();
      boolean isOther = part.ownDeletes && deleted.deleter != deleted.writeId;
      if (part.deleters.has(deleted.deleter) && !isOther) {
        DeleteEvents.Group key = deleted.withoutDeleter();
        Deleters known = (Deleters) byGroup.get(key);
        if (known == null) {
          known = new Deleters();
          byGroup.put(key, known);
        }
        known.writeIds.add(Long.valueOf(deleted.deleter));
        known.bits.add(events.bits(deleted));
      }
    }
  }

  boolean isEmpty() {
    return byGroup.isEmpty();
  }

  /** Returns whether a row was deleted. */
  boolean has(long writeId, long bucket, long rowId) {
    long high = DeleteEvents.high(rowId);
    if (group == null || !group.is(0, writeId, bucket, high)) {
      group = new DeleteEvents.Group(0, writeId, bucket, high);
      Deleters deleters = (Deleters) byGroup.get(group);
      bits = deleters == null ? null : deleters.all();
      lastRowId = Long.MAX_VALUE;
    }
    if (bits == null) {
      return false;
    }
    int low = DeleteEvents.low(rowId);
    // Rows are usually in the order of their ids, and most lookups then take one comparison.
    if (rowId < lastRowId || next >= 0 && next < low) {
      next = bits.nextValue(low); // -1 if no later row is deleted
    }
    lastRowId = rowId;
    return next == low;
  }

  /** Returns the first or the last write id that deleted a row, or -1. */
  long deleterOf(long writeId, long bucket, long rowId, boolean isFirst) {
    Deleters deleters =
        (Deleters)
            byGroup.get(
                new DeleteEvents.Group(0, writeId, bucket, DeleteEvents.high(rowId)));
    return deleters == null ? -1 : deleters.of(DeleteEvents.low(rowId), isFirst);
  }

  /** Write ids that deleted rows of one group, with the bitmaps of these rows. */
  private static final class Deleters {
    final List writeIds = new ArrayList(); // of Long
    final List bits = new ArrayList(); // of RoaringBitmap
    private RoaringBitmap all;

    RoaringBitmap all() {
      if (all == null) {
        all = (RoaringBitmap) bits.get(0);
        if (bits.size() > 1) {
          // Bitmaps that other tasks share must not change.
          all = RoaringBitmap.or((RoaringBitmap) bits.get(0), (RoaringBitmap) bits.get(1));
          for (int i = 2; i < bits.size(); i++) {
            all.or((RoaringBitmap) bits.get(i));
          }
        }
      }
      return all;
    }

    long of(int low, boolean isFirst) {
      long found = -1;
      for (int i = 0; i < bits.size(); i++) {
        long writeId = ((Long) writeIds.get(i)).longValue();
        boolean isBetter = found < 0 || (isFirst ? writeId < found : writeId > found);
        if (isBetter && ((RoaringBitmap) bits.get(i)).contains(low)) {
          found = writeId;
        }
      }
      return found;
    }
  }
}
