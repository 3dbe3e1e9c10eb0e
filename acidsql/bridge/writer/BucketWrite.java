package acidsql.writer;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Writes events into bucket files in the staging directory of a statement.
 *
 * <p>Each attempt of a task writes files of its own names. The driver learns of those of the
 * attempts that count, and nothing else is ever looked at.
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
   * Return the files: for each its path, target, bucket, bytes, rows and delete events, then the
   * values of its directory, all of it separated by NUL.
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

  /** Attempt of a task. Events of one file come one after the other. */
  static final class Task implements DataWriter {
    private static final UTF8String NUL = UTF8String.fromString("\0"); // between what is told

    private final BucketLayout layout;
    private final int partition, told;
    private final long task;
    private final Written written = new Written();
    private final long[] next;
    private final List paths = new ArrayList();
    private final UTF8String[] values;
    private UTF8String target;
    private int bucket, number;
    private BucketFile file;

    Task(BucketLayout layout, int partition, long task) {
      this.layout = layout;
      this.partition = partition;
      this.task = task;
      told = BucketFile.EVENT_COLUMNS + layout.columns.length();
      next = new long[layout.inserting.length];
      values = new UTF8String[layout.values];
      number = -1;
    }

    public void write(Object row) throws IOException {
      InternalRow event = (InternalRow) row;
      if (file == null || !isOfFile(event)) {
        finish();
        begin(event);
      }
      if (number < 0) {
        file.add(event);
      } else {
        int property = layout.properties[number] + (bucket << 16);
        long id = layout.writeId;
        file.add(0, id, property, next[number]++, id, event);
      }
    }

    private boolean isOfFile(InternalRow event) {
      int at = told;
      if (layout.only == null && !target.equals(event.getUTF8String(at++))) {
        return false;
      }
      for (int i = 0; i < values.length; i++) {
        if (!values[i].equals(event.getUTF8String(at++))) {
          return false;
        }
      }
      return !layout.isBucketed || bucket == event.getInt(at);
    }

    private void begin(InternalRow event) throws IOException {
      int at = told;
      target =
          layout.only == null
              ? event.getUTF8String(at++).clone()
              : UTF8String.fromString(layout.only);
      for (int i = 0; i < values.length; i++) {
        values[i] = event.getUTF8String(at++).clone();
        if (values[i].contains(NUL)) {
          throw new IOException("a partition value has the character NUL");
        }
      }
      bucket = layout.isBucketed ? event.getInt(at) : partition;
      number = -1;
      for (int i = 0; i < layout.inserting.length; i++) {
        if (layout.inserting[i].equals(target.toString())) {
          number = i;
        }
      }
      Path path = new Path(layout.place, "part-" + partition + "-" + task + "-" + paths.size());
      paths.add(path);
      file = new BucketFile(path, layout.schema, layout.columns, layout.conf.value());
    }

    private void finish() throws IOException {
      if (file == null) {
        return;
      }
      BucketFile ended = file;
      file = null;
      ended.close();
      Path path = (Path) paths.get(paths.size() - 1);
      long size = path.getFileSystem(layout.conf.value()).getFileStatus(path).getLen();
      written.files.add(path.toString());
      written.files.add(target.toString());
      written.files.add(String.valueOf(bucket));
      written.files.add(String.valueOf(size));
      written.files.add(String.valueOf(ended.inserts()));
      written.files.add(String.valueOf(ended.deletes()));
      for (int i = 0; i < values.length; i++) {
        written.files.add(values[i].toString());
      }
    }

    public WriterCommitMessage commit() throws IOException {
      finish();
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
      if (file != null) {
        BucketFile ended = file;
        file = null;
        ended.close();
      }
    }
  }
}
