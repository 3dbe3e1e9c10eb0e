package acidsql.orc;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.rdd.InputFileBlockHolder;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.util.SerializableConfiguration;

/** Reads the file parts of a task, one after the other. */
final class AcidReader implements PartitionReader {
  private final ReadPlan plan;
  private final Splits.Part[] parts;
  private final Configuration conf;
  private int opened = 0;
  private FileReader reader;
  private ColumnarBatch batch;

  AcidReader(ReadPlan plan, Splits.Part[] parts, Configuration conf) {
    this.plan = plan;
    this.parts = parts;
    this.conf = conf;
  }

  /** Creates the readers of tasks. */
  static final class Factory implements PartitionReaderFactory {
    private final ReadPlan plan;
    private final Broadcast conf;

    Factory(ReadPlan plan, Broadcast conf) {
      this.plan = plan;
      this.conf = conf;
    }

    public PartitionReader createReader(InputPartition partition) {
      throw new UnsupportedOperationException();
    }

    public boolean supportColumnarReads(InputPartition partition) {
      return true;
    }

    public PartitionReader createColumnarReader(InputPartition partition) {
      Configuration own = ((SerializableConfiguration) conf.value()).value();
      return new AcidReader(plan, ((Splits.Task) partition).parts, own);
    }
  }

  public boolean next() throws IOException {
    while (true) {
      if (reader == null) {
        if (opened == parts.length) {
          return false;
        }
        open(parts[opened++]);
      }
      try {
        batch = reader.next();
      } catch (Exception error) {
        throw FileReader.failed(parts[opened - 1].path, error);
      }
      if (batch != null) {
        return true;
      }
      close();
    }
  }

  private void open(Splits.Part part) throws IOException {
    InputFileBlockHolder.set(part.path, part.start, part.length);
    try {
      reader = new FileReader(plan, part, conf);
    } catch (Exception error) {
      throw FileReader.failed(parts[opened - 1].path, error);
    }
  }

  public Object get() {
    return batch;
  }

  public void close() throws IOException {
    FileReader open = reader;
    reader = null;
    if (open != null) {
      InputFileBlockHolder.unset();
      open.close();
    }
  }
}
