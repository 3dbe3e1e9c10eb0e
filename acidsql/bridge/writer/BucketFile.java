package acidsql.writer;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.time.ZoneId;
import java.util.TimeZone;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.ql.exec.vector.LongColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.StructColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.VectorizedRowBatch;
import org.apache.orc.OrcFile;
import org.apache.orc.TypeDescription;
import org.apache.orc.Writer;
import org.apache.orc.impl.PhysicalFsWriter;
import org.apache.orc.impl.writer.WriterEncryptionVariant;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;
import org.apache.spark.sql.types.StructType;

/**
 * Writes one bucket file of an ACID table, with the user metadata of Hive's OrcRecordUpdater: the
 * last key of each stripe, the numbers of events, and the version.
 */
public final class BucketFile implements OrcFile.WriterCallback {
  private static final int ROWS = 1024;
  /** Number of columns of an event before the table's columns. */
  static final int EVENT_COLUMNS = 5;

  static final int DELETE = 2;

  /** Setting that contains the time zone of the local times that the file stores for timestamps. */
  static final String TIME_ZONE = "acidsql.time.zone";

  private final Writer writer;
  private final VectorizedRowBatch batch;
  private final LongColumnVector operation, originalWriteId, bucket, rowId, currentWriteId;
  private final StructColumnVector row;
  private final Cells[] cells;
  private final StringBuilder keyIndex = new StringBuilder();
  private final ByteArrayOutputStream content;
  private long inserts, deletes, lastWriteId, lastBucket, lastRowId;
  private boolean isStripeEmpty = true;

  /**
   * @param path path of the file; null to write the file in memory.
   * @param schema schema of the file: the columns of an event; the last can be missing.
   * @param columns the table's columns.
   * @param conf settings of ORC's writer, and the time zone of the local times.
   */
  public BucketFile(Path path, TypeDescription schema, StructType columns, Configuration conf)
      throws IOException {
    // ORC's writer takes instants in the JVM's zone or in UTC. The JVM's zone distinguishes two
    // instants with the same local time when clocks are set back. UTC has every local time.
    ZoneId zone = DateTimeUtils.getZoneId(conf.get(TIME_ZONE));
    boolean isOwnZone =
        !columns.catalogString().contains("timestamp_ntz")
            && !schema.toString().contains("local time zone")
            && zone.getRules().equals(TimeZone.getDefault().toZoneId().getRules());
    LocalTimes times = isOwnZone ? null : new LocalTimes(zone);
    OrcFile.WriterOptions options =
        OrcFile.writerOptions(conf)
            .setSchema(schema)
            .callback(this)
            .useUTCTimestamp(!isOwnZone);
    if (path == null) {
      content = new ByteArrayOutputStream();
      FSDataOutputStream stream = new FSDataOutputStream(content, null);
      options.physicalWriter(
          new PhysicalFsWriter(stream, options, new WriterEncryptionVariant[0]));
      // ORC distinguishes its writers by path.
      path = new Path("file:/" + java.util.UUID.randomUUID());
    } else {
      content = null;
      FileSystem files = path.getFileSystem(conf);
      if (files instanceof LocalFileSystem) {
        // The raw file system writes no checksum files, and starts no process to set permissions.
        options.fileSystem(((LocalFileSystem) files).getRawFileSystem());
      }
    }
    writer = OrcFile.createWriter(path, options);
    batch = schema.createRowBatch(TypeDescription.RowBatchVersion.USE_DECIMAL64, ROWS);
    batch.reset();
    operation = (LongColumnVector) batch.cols[0];
    originalWriteId = (LongColumnVector) batch.cols[1];
    bucket = (LongColumnVector) batch.cols[2];
    rowId = (LongColumnVector) batch.cols[3];
    currentWriteId = (LongColumnVector) batch.cols[4];
    row = batch.cols.length > EVENT_COLUMNS ? (StructColumnVector) batch.cols[EVENT_COLUMNS] : null;
    TypeDescription stored =
        row == null ? null : (TypeDescription) schema.getChildren().get(EVENT_COLUMNS);
    cells = new Cells[columns.length()];
    for (int i = 0; i < cells.length; i++) {
      TypeDescription type = (TypeDescription) stored.getChildren().get(i);
      cells[i] = Cells.of(columns.fields()[i].dataType(), type, row.fields[i], times);
    }
  }

  /**
   * Add an event.
   *
   * @param values row whose table columns begin at the sixth field; ignored for a delete event.
   */
  public void add(
      int kind, long original, int bucketProperty, long number, long current, InternalRow values)
      throws IOException {
    int at = batch.size++;
    operation.vector[at] = kind;
    originalWriteId.vector[at] = original;
    bucket.vector[at] = bucketProperty;
    rowId.vector[at] = number;
    currentWriteId.vector[at] = current;
    if (kind == DELETE) {
      if (row != null) {
        row.noNulls = false;
        row.isNull[at] = true;
      }
      deletes++;
    } else {
      row.isNull[at] = false;
      for (int i = 0; i < cells.length; i++) {
        cells[i].set(at, values, EVENT_COLUMNS + i);
      }
      inserts++;
    }
    if (batch.size == ROWS) {
      flush();
    }
  }

  /** Add an event that contains its key. */
  public void add(InternalRow event) throws IOException {
    add(
        event.getInt(0),
        event.getLong(1),
        event.getInt(2),
        event.getLong(3),
        event.getLong(4),
        event);
  }

  private void flush() throws IOException {
    int last = batch.size - 1;
    if (last < 0) {
      return;
    }
    TaskContext task = TaskContext.get();
    if (task != null) {
      task.killTaskIfInterrupted(); // Spark's loop over the rows does not check
    }
    lastWriteId = originalWriteId.vector[last];
    lastBucket = bucket.vector[last];
    lastRowId = rowId.vector[last];
    isStripeEmpty = false;
    writer.addRowBatch(batch);
    batch.reset();
  }

  /** Record the last key of a stripe, which ORC ends only between batches. */
  public void preStripeWrite(OrcFile.WriterContext context) {
    keyIndex.append(lastWriteId).append(',').append(lastBucket).append(',').append(lastRowId);
    keyIndex.append(';');
    isStripeEmpty = true;
  }

  public void preFooterWrite(OrcFile.WriterContext context) {
    if (!isStripeEmpty) { // ORC writes the last stripe after this call
      preStripeWrite(context);
    }
    context.getWriter().addUserMetadata("hive.acid.key.index", bytes(keyIndex.toString()));
    context.getWriter().addUserMetadata("hive.acid.stats", bytes(inserts + ",0," + deletes));
    context.getWriter().addUserMetadata("hive.acid.version", bytes("2"));
  }

  private static ByteBuffer bytes(String text) {
    return ByteBuffer.wrap(text.getBytes(StandardCharsets.US_ASCII));
  }

  /** Finish the file. */
  public void close() throws IOException {
    flush();
    writer.close();
  }

  /** Return the bytes of a file in memory after it was closed. */
  public byte[] content() {
    return content.toByteArray();
  }

  long inserts() {
    return inserts;
  }

  long deletes() {
    return deletes;
  }
}
