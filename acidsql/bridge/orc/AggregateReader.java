package acidsql.orc;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.util.SerializableConfiguration;

/** Returns one row with the aggregates of a task's files. */
final class AggregateReader implements PartitionReader {
  private final ReadPlan plan;
  private final Aggregates aggregates;
  private final Splits.Part[] parts;
  private final Configuration conf;
  private boolean isDone = false;

  AggregateReader(
      ReadPlan plan, Aggregates aggregates, Splits.Part[] parts, Configuration conf) {
    this.plan = plan;
    this.aggregates = aggregates;
    this.parts = parts;
    this.conf = conf;
  }

  /** Creates the readers of tasks. */
  static final class Factory implements PartitionReaderFactory {
    private final ReadPlan plan;
    private final Aggregates aggregates;
    private final Broadcast conf;

    Factory(ReadPlan plan, Aggregates aggregates, Broadcast conf) {
      this.plan = plan;
      this.aggregates = aggregates;
      this.conf = conf;
    }

    public PartitionReader createReader(InputPartition partition) {
      Configuration own = ((SerializableConfiguration) conf.value()).value();
      return new AggregateReader(plan, aggregates, ((Splits.Task) partition).parts, own);
    }
  }

  public boolean next() {
    boolean isFirst = !isDone;
    isDone = true;
    return isFirst;
  }

  public Object get() {
    Object[] found = aggregates.none();
    for (int i = 0; i < parts.length; i++) {
      // Only the first part of a file counts, for the whole file.
      if (parts[i].start == 0) {
        add(parts[i], found);
      }
    }
    return new GenericInternalRow(found);
  }

  private void add(Splits.Part part, Object[] found) {
    part.length = part.fileLength;
    try {
      FileReader file = new FileReader(plan, part, conf);
      try {
        aggregates.add(file, found);
      } finally {
        file.close();
      }
    } catch (Exception error) {
      FileReader.failed(part.path, error);
    }
  }

  public void close() throws IOException {}
}
