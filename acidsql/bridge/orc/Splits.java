package acidsql.orc;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.Serializable;
import java.util.Arrays;
import org.apache.spark.sql.connector.read.InputPartition;

/** File parts that tasks read, as planned by Python ({@code scan/splits.py} writes these bytes). */
final class Splits {
  private Splits() {}

  /** Numbers of the kinds of files. */
  static final int EVENTS = 0; // rows with row ids

  static final int ORIGINAL = 1; // rows without row ids, identified by position
  static final int PLAIN = 2; // rows of insert-only tables, which need no row ids

  /**
   * Returns the partitions of a scan.
   *
   * @param partitions values of each partition of the table, in the order of its partition columns
   */
  static InputPartition[] decode(byte[] bytes, Object[][] partitions) throws IOException {
    DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes));
    WriteIds[] lists = new WriteIds[in.readInt()];
    for (int i = 0; i < lists.length; i++) {
      lists[i] = new WriteIds(in.readLong(), longs(in), in.readLong(), longs(in));
    }
    DeleteFile[][] deletes = new DeleteFile[in.readInt()][];
    for (int i = 0; i < deletes.length; i++) {
      deletes[i] = new DeleteFile[in.readInt()];
      for (int j = 0; j < deletes[i].length; j++) {
        deletes[i][j] =
            new DeleteFile(text(in), in.readLong(), in.readLong(), in.readLong(), longs(in));
      }
    }
    InputPartition[] found = new InputPartition[in.readInt()];
    for (int i = 0; i < found.length; i++) {
      Part[] parts = new Part[in.readInt()];
      for (int j = 0; j < parts.length; j++) {
        parts[j] = part(in, lists, deletes, partitions);
      }
      found[i] = new Task(parts);
    }
    if (in.available() != 0) {
      throw new IOException("there are " + in.available() + " bytes after the splits of a scan");
    }
    return found;
  }

  private static Part part(
      DataInputStream in, WriteIds[] lists, DeleteFile[][] deletes, Object[][] partitions)
      throws IOException {
    Part made = new Part();
    made.kind = in.readByte();
    made.path = text(in);
    made.fileLength = in.readLong();
    made.start = in.readLong();
    made.length = in.readLong();
    made.columns = in.readInt();
    made.ordinal = in.readInt();
    made.partition = partitions.length == 0 ? new Object[0] : partitions[made.ordinal];
    int list = in.readInt();
    made.visible = list < 0 ? null : lists[list];
    int set = in.readInt();
    if (set >= 0) {
      made.deletes = deletes[set];
      made.deleters = lists[in.readInt()];
      made.keepsDeletes = in.readBoolean();
      made.ownDeletes = in.readBoolean();
    }
    if (made.kind == ORIGINAL) {
      made.writeId = in.readLong();
      made.bucket = in.readInt();
      made.firstRowId = in.readLong();
    }
    return made;
  }

  private static String text(DataInputStream in) throws IOException {
    byte[] bytes = new byte[in.readInt()];
    in.readFully(bytes);
    return new String(bytes, "UTF-8");
  }

  private static long[] longs(DataInputStream in) throws IOException {
    long[] found = new long[in.readInt()];
    for (int i = 0; i < found.length; i++) {
      found[i] = in.readLong();
    }
    return found;
  }

  /** File parts that one task reads. */
  static final class Task implements InputPartition {
    final Part[] parts;

    Task(Part[] parts) {
      this.parts = parts;
    }
  }

  /** Stripes of a file that begin in a byte range. */
  static final class Part implements Serializable {
    byte kind;
    String path;
    long fileLength; // bytes to read; a file that is still being written can have more
    long start;
    long length;
    int columns; // how many of the table's columns the file can have
    int ordinal; // ordinal of the partition
    Object[] partition; // values of the partition
    WriteIds visible; // null if all rows are visible
    DeleteFile[] deletes; // null if no row was deleted
    WriteIds deleters; // write ids whose delete events apply
    boolean keepsDeletes; // whether delete events can be cached for other tasks
    boolean ownDeletes; // whether only events with the write id of the row apply
    long writeId; // of the rows of an original file, like the next fields
    int bucket;
    long firstRowId; // of the first row of the file
  }

  /** Delete file, with the lowest and highest parts of its row ids if they are known. */
  static final class DeleteFile implements Serializable {
    final String path;
    final long length;
    final long modified; // distinguishes successive files of the same path
    final long events;
    final long[] bounds; // of write id, bucket property and row id; or empty

    DeleteFile(String path, long length, long modified, long events, long[] bounds) {
      this.path = path;
      this.length = length;
      this.modified = modified;
      this.events = events;
      this.bounds = bounds;
    }
  }

  /** Write ids that a snapshot sees, or that became visible between two snapshots. */
  static final class WriteIds implements Serializable {
    private final long highWaterMark;
    private final long[] hidden; // ascending
    private final long above; // up to this write id, only those in earlier count
    private final long[] earlier; // ascending

    WriteIds(long highWaterMark, long[] hidden, long above, long[] earlier) {
      this.highWaterMark = highWaterMark;
      this.hidden = hidden;
      this.above = above;
      this.earlier = earlier;
    }

    boolean has(long writeId) {
      if (writeId <= above) {
        return Arrays.binarySearch(earlier, writeId) >= 0;
      }
      return writeId <= highWaterMark
          && (hidden.length == 0 || Arrays.binarySearch(hidden, writeId) < 0);
    }
  }
}
