package acidsql.writer;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.orc.TypeDescription;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Writes events into bucket files in the staging directory of a statement.
 *
 * <p>Each attempt of a task writes files with unique names. The driver gets the names of the files
 * of successful attempts, and no code reads any other files.
 */
public final class BucketWrite implements BatchWrite {
  private final BucketLayout layout;
  private final List files = new ArrayList();

  public BucketWrite(BucketLayout layout) {
    this.layout = layout;
  }

  public DataWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
    return new Factory(layout);
  }

  public void commit(WriterCommitMessage[] messages) {
    for (int i = 0; i < messages.length; i++) {
      if (messages[i] != null) {
        files.addAll(((Written) messages[i]).files);
      }
    }
  }

  public void abort(WriterCommitMessage[] messages) {
    // The transaction deletes its staging directory.
  }

  /**
   * Return the files. Each has its path, target, bucket, bytes, rows and delete events, then the
   * values of its directory, all separated by NUL.
   */
  public String files() {
    return String.join("\0", files);
  }

  static final class Written implements WriterCommitMessage {
    final ArrayList files = new ArrayList();
  }

  static final class Factory implements DataWriterFactory {
    private final BucketLayout layout;

    Factory(BucketLayout layout) {
      this.layout = layout;
    }

    public DataWriter createWriter(int partition, long task) {
      return new Task(layout, partition, task);
    }
  }

  /** Attempt of a task. The events of one place (a directory and bucket) are consecutive. */
  static final class Task implements DataWriter {
    private static final UTF8String NUL = UTF8String.fromString("\0"); // separates fields

    private final BucketLayout layout;
    private final int partition, told;
    private final long task;
    private final Written written = new Written();
    private final long[] next;
    private final List paths = new ArrayList();
    private final UTF8String[] values;
    private final UTF8String only;
    private final Map sinks = new HashMap(); // of the place, by target
    private final Map keyFiles = new LinkedHashMap(); // of all places, by target
    private boolean hasPlace = false;
    private int bucket;
    private UTF8String target; // target of the last event, with its sink
    private Sink sink;

    Task(BucketLayout layout, int partition, long task) {
      this.layout = layout;
      this.partition = partition;
      this.task = task;
      told = BucketFile.EVENT_COLUMNS + layout.columns.length();
      next = new long[layout.inserting.length];
      values = new UTF8String[layout.values];
      only = layout.only == null ? null : UTF8String.fromString(layout.only);
    }

    /** A file that a task writes. */
    private static final class Open {
      final String target;
      final Path path;
      final BucketFile file;

      Open(String target, Path path, BucketFile file) {
        this.target = target;
        this.path = path;
        this.file = file;
      }
    }

    /** Destination of the events of a target. */
    private static final class Sink {
      int number = -1; // index among the inserting targets, or -1
      Open rows; // file of the events, or null if they are only keys
      Open keys; // file of the keys that the events delete, or null
    }

    public void write(Object row) throws IOException {
      InternalRow event = (InternalRow) row;
      if (!hasPlace || !isOfPlace(event)) {
        finishRows();
        beginPlace(event);
      }
      UTF8String name = only == null ? event.getUTF8String(told) : only;
      if (sink == null || only == null && !name.equals(target)) {
        target = name.clone();
        sink = sinkOf(target);
      }
      if (sink.keys != null) {
        long place = event.getLong(4);
        sink.keys.file.add(
            BucketFile.DELETE, event.getLong(1), event.getInt(2), event.getLong(3), place, null);
      }
      if (sink.number >= 0) {
        int property = layout.properties[sink.number] + (bucket << 16);
        long id = layout.writeId;
        sink.rows.file.add(0, id, property, next[sink.number]++, id, event);
      } else if (sink.rows != null) {
        sink.rows.file.add(event);
      }
    }

    private boolean isOfPlace(InternalRow event) {
      int at = told + (only == null ? 1 : 0);
      for (int i = 0; i < values.length; i++) {
        if (!values[i].equals(event.getUTF8String(at++))) {
          return false;
        }
      }
      return !layout.isBucketed || bucket == event.getInt(at);
    }

    private void beginPlace(InternalRow event) throws IOException {
      int at = told + (only == null ? 1 : 0);
      for (int i = 0; i < values.length; i++) {
        values[i] = event.getUTF8String(at++).clone();
        if (values[i].contains(NUL)) {
          throw new IOException("a partition value has the character NUL");
        }
      }
      bucket = layout.isBucketed ? event.getInt(at) : partition;
      hasPlace = true;
    }

    private Sink sinkOf(UTF8String name) throws IOException {
      Sink known = (Sink) sinks.get(name);
      if (known != null) {
        return known;
      }
      Sink made = new Sink();
      String text = name.toString();
      boolean isUpdate = text.startsWith(BucketLayout.UPDATE);
      String rows = isUpdate ? BucketLayout.INSERT + text.substring(1) : text;
      for (int i = 0; i < layout.inserting.length; i++) {
        if (layout.inserting[i].equals(rows)) {
          made.number = i;
        }
      }
      if (layout.stagesKeys && (isUpdate || made.number < 0)) {
        made.keys = keyFile(isUpdate ? BucketLayout.DELETE + text.substring(1) : text);
      }
      if (made.number >= 0 || made.keys == null) {
        made.rows = open(rows, layout.schema, layout.columns);
      }
      sinks.put(name, made);
      return made;
    }

    private Open keyFile(String name) throws IOException {
      if (!keyFiles.containsKey(name)) {
        keyFiles.put(name, open(name, layout.keySchema, new StructType()));
      }
      return (Open) keyFiles.get(name);
    }

    private Open open(String name, TypeDescription schema, StructType columns)
        throws IOException {
      Path path = new Path(layout.place, "part-" + partition + "-" + task + "-" + paths.size());
      paths.add(path);
      return new Open(name, path, new BucketFile(path, schema, columns, layout.conf.value()));
    }

    private void finishRows() throws IOException {
      Iterator each = sinks.values().iterator();
      while (each.hasNext()) {
        Sink ended = (Sink) each.next();
        each.remove();
        if (ended.rows != null) {
          finish(ended.rows, values);
        }
      }
      sink = null;
    }

    private void finish(Open ended, UTF8String[] ofPlace) throws IOException {
      ended.file.close();
      long size =
          ended.path.getFileSystem(layout.conf.value()).getFileStatus(ended.path).getLen();
      written.files.add(ended.path.toString());
      written.files.add(ended.target);
      written.files.add(String.valueOf(bucket));
      written.files.add(String.valueOf(size));
      written.files.add(String.valueOf(ended.file.inserts()));
      written.files.add(String.valueOf(ended.file.deletes()));
      for (int i = 0; i < ofPlace.length; i++) {
        written.files.add(ofPlace[i].toString());
      }
    }

    public WriterCommitMessage commit() throws IOException {
      finishRows();
      UTF8String[] nowhere = new UTF8String[values.length];
      Arrays.fill(nowhere, UTF8String.EMPTY_UTF8);
      Iterator each = keyFiles.values().iterator();
      while (each.hasNext()) {
        Open ended = (Open) each.next();
        each.remove();
        finish(ended, nowhere);
      }
      return written;
    }

    public void abort() throws IOException {
      try {
        close();
      } finally {
        for (int i = 0; i < paths.size(); i++) {
          Path path = (Path) paths.get(i);
          path.getFileSystem(layout.conf.value()).delete(path, false);
        }
      }
    }

    public void close() throws IOException {
      List left = new ArrayList(keyFiles.values());
      keyFiles.clear();
      Iterator each = sinks.values().iterator();
      while (each.hasNext()) {
        Open rows = ((Sink) each.next()).rows;
        if (rows != null) {
          left.add(rows);
        }
      }
      sinks.clear();
      for (int i = 0; i < left.size(); i++) {
        ((Open) left.get(i)).file.close();
      }
    }
  }
}
