package acidsql.orc;

import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.ql.exec.vector.LongColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.VectorizedRowBatch;
import org.apache.orc.OrcFile;
import org.apache.orc.Reader;
import org.apache.orc.RecordReader;
import org.apache.orc.TypeDescription;
import org.apache.orc.impl.SchemaEvolution;
import org.roaringbitmap.RoaringBitmap;

/**
 * Row ids in the events of a delete file, as bitmaps. For each write id of a delete, and each write
 * id and bucket property of deleted rows, a bitmap has one bit per row id.
 *
 * <p>If row ids are scattered, an event takes at most two bytes. If they are dense, each row id of
 * their range takes at most an eighth of a byte. An executor reads a file once if its events fit
 * into a sixteenth of the heap, and caches the most recently used files in that much memory. From a
 * larger file, a task reads only the events for the row ids that its file part can contain.
 */
final class DeleteEvents {
  private static final int ROW_ID_BITS = 31; // bits of a row id within one bitmap
  private static final int BYTES_OF_EVENT = 2;
  private static final int BYTES_OF_GROUP = 256;
  private static final long CACHE_BYTES = Runtime.getRuntime().maxMemory() / 16;
  private static final LinkedHashMap CACHE = new LinkedHashMap(16, 0.75f, true);
  private static long cachedBytes = 0;

  private final Map groups = new HashMap(); // from Group to RoaringBitmap
  private long bytes = 0;

  private DeleteEvents() {}

  /**
   * Returns the events of a delete file.
   *
   * @param wanted ranges of the requested row ids; the result can also contain other row ids
   * @param keeps whether to share the events with other tasks
   */
  static DeleteEvents of(
      Splits.DeleteFile file, KeyRange wanted, boolean keeps, Configuration conf)
      throws Exception {
    if (!keeps || isLarge(file)) {
      return read(file, wanted, conf);
    }
    String key = file.path + "\n" + file.length + "\n" + file.modified;
    Entry entry;
    synchronized (CACHE) {
      entry = (Entry) CACHE.get(key);
      if (entry == null) {
        entry = new Entry();
        CACHE.put(key, entry);
      }
    }
    synchronized (entry) { // one task reads the file, and the others wait for it
      if (entry.events == null) {
        try {
          entry.events = read(file, KeyRange.ALL, conf);
        } finally {
          keep(key, entry);
        }
      }
      return entry.events;
    }
  }

  /** Returns whether a file has too many events for the cache. */
  static boolean isLarge(Splits.DeleteFile file) {
    return file.events > CACHE_BYTES / BYTES_OF_EVENT;
  }

  /** Counts an entry after it was read, or drops it if the read failed, and makes room for it. */
  private static void keep(String key, Entry entry) {
    synchronized (CACHE) {
      if (CACHE.get(key) != entry) {
        return; // another thread dropped it to make room
      }
      if (entry.events == null) {
        CACHE.remove(key);
        return;
      }
      cachedBytes += entry.events.bytes;
      entry.isCounted = true;
      Iterator oldest = CACHE.values().iterator();
      while (cachedBytes > CACHE_BYTES && oldest.hasNext()) {
        Entry old = (Entry) oldest.next();
        if (old != entry && old.isCounted) {
          cachedBytes -= old.events.bytes;
          oldest.remove();
        }
      }
    }
  }

  private static final class Entry {
    volatile DeleteEvents events;
    boolean isCounted; // guarded by CACHE
  }

  private static DeleteEvents read(Splits.DeleteFile file, KeyRange wanted, Configuration conf)
      throws Exception {
    DeleteEvents found = new DeleteEvents();
    if (file.events == 0) {
      return found;
    }
    Reader reader =
        OrcFile.createReader(
            new Path(file.path), OrcFile.readerOptions(conf).maxLength(file.length));
    try {
      TypeDescription schema = reader.getSchema();
      if (!SchemaEvolution.checkAcidSchema(schema)) {
        throw new IllegalArgumentException("it has no delete events but " + schema);
      }
      boolean[] include = new boolean[schema.getMaximumId() + 1];
      include[0] = true;
      VectorizedRowBatch batch = new VectorizedRowBatch(6, VectorizedRowBatch.DEFAULT_SIZE);
      for (int i = 1; i < 5; i++) {
        include[((TypeDescription) schema.getChildren().get(i)).getId()] = true;
        batch.cols[i] = new LongColumnVector();
      }
      RecordReader rows = reader.rows(reader.options().schema(schema).include(include));
      try {
        while (rows.nextBatch(batch)) {
          found.add(batch, wanted);
        }
      } finally {
        rows.close();
      }
    } finally {
      reader.close();
    }
    found.count();
    return found;
  }

  private void add(VectorizedRowBatch batch, KeyRange wanted) {
    LongColumnVector writeIds = (LongColumnVector) batch.cols[1];
    LongColumnVector buckets = (LongColumnVector) batch.cols[2];
    LongColumnVector rowIds = (LongColumnVector) batch.cols[3];
    LongColumnVector deleters = (LongColumnVector) batch.cols[4];
    Group last = null;
    RoaringBitmap bits = null;
    for (int i = 0; i < batch.size; i++) {
      long writeId = writeIds.vector[writeIds.isRepeating ? 0 : i];
      long bucket = buckets.vector[buckets.isRepeating ? 0 : i];
      long rowId = rowIds.vector[rowIds.isRepeating ? 0 : i];
      long deleter = deleters.vector[deleters.isRepeating ? 0 : i];
      if (!wanted.has(writeId, bucket, rowId)) {
        continue;
      }
      if (last == null || !last.is(deleter, writeId, bucket, rowId >> ROW_ID_BITS)) {
        last = new Group(deleter, writeId, bucket, rowId >> ROW_ID_BITS);
        bits = (RoaringBitmap) groups.get(last);
        if (bits == null) {
          bits = new RoaringBitmap();
          groups.put(last, bits);
        }
      }
      bits.add(low(rowId));
    }
  }

  private void count() {
    Iterator each = groups.values().iterator();
    while (each.hasNext()) {
      RoaringBitmap bits = (RoaringBitmap) each.next();
      bits.runOptimize();
      bytes += bits.getLongSizeInBytes() + BYTES_OF_GROUP;
    }
  }

  /** Returns the bitmap of the row ids of a group, or null. */
  RoaringBitmap bits(Group group) {
    return (RoaringBitmap) groups.get(group);
  }

  /** Returns the groups that have events. */
  Iterator groups() {
    return groups.keySet().iterator();
  }

  /** Returns the position of a row id in the bitmap of its group. */
  static int low(long rowId) {
    return (int) rowId & Integer.MAX_VALUE;
  }

  /** Returns the part of a row id that is the same for the whole group. */
  static long high(long rowId) {
    return rowId >> ROW_ID_BITS;
  }

  /** Row ids that differ only in their last bits and have the same deleting write id. */
  static final class Group {
    final long deleter;
    final long writeId;
    final long bucket;
    final long high;

    Group(long deleter, long writeId, long bucket, long high) {
      this.deleter = deleter;
      this.writeId = writeId;
      this.bucket = bucket;
      this.high = high;
    }

    Group withoutDeleter() {
      return new Group(0, writeId, bucket, high);
    }

    boolean is(long deleter, long writeId, long bucket, long high) {
      return this.deleter == deleter
          && this.writeId == writeId
          && this.bucket == bucket
          && this.high == high;
    }

    public boolean equals(Object other) {
      if (!(other instanceof Group)) {
        return false;
      }
      Group group = (Group) other;
      return group.is(deleter, writeId, bucket, high);
    }

    public int hashCode() {
      long mixed = ((deleter * 31 + writeId) * 31 + bucket) * 31 + high;
      return (int) (mixed ^ mixed >>> 32);
    }
  }

  /** Ranges for the three parts of row ids. */
  static final class KeyRange {
    static final KeyRange ALL = new KeyRange(new long[0]);
    private final long[] bounds; // lowest and highest write id, bucket property, row id; or empty

    KeyRange(long[] bounds) {
      this.bounds = bounds;
    }

    boolean has(long writeId, long bucket, long rowId) {
      return bounds.length == 0
          || writeId >= bounds[0]
              && writeId <= bounds[1]
              && bucket >= bounds[2]
              && bucket <= bounds[3]
              && rowId >= bounds[4]
              && rowId <= bounds[5];
    }

    /** Returns whether these ranges overlap with the ranges of a {@code DeleteFile}. */
    boolean meets(long[] other) {
      if (bounds.length == 0 || other.length == 0) {
        return true;
      }
      for (int i = 0; i < bounds.length; i += 2) {
        if (bounds[i] > other[i + 1] || bounds[i + 1] < other[i]) {
          return false;
        }
      }
      return true;
    }
  }
}
